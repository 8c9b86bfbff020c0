/* Whatever the bytes: a page unpacks to its size or is refused, and the pieces of one that does
 * unpack by themselves to its bytes. The input: u8 codec, u16 bytes unpacked, the page. */
#include "base/le.h"
#include "pack/foreign/codec.h"
#include "tests/fuzz/fuzz.h"
#include <stdlib.h>
#include <string.h>

#define HEAD 3

static void look_at_pieces(const struct buf *pieces, const uint8_t *packed, size_t len,
			   const uint8_t *whole, size_t size)
{
	const struct codec_piece *piece = (const void *)pieces->data;
	const struct codec_piece *end = piece + BUF_COUNT(pieces, *piece);
	uint64_t made = 0;

	for (; piece < end; made += piece++->unpacked) {
		void *bytes = malloc(piece->unpacked + 1);

		if (piece->unpacked > size - made || piece->offset > len ||
		    piece->packed > len - piece->offset ||
		    codec_unpack(piece->codec, packed + piece->offset, piece->packed, bytes,
				 piece->unpacked, NULL) ||
		    memcmp(bytes, whole + made, piece->unpacked) != 0)
			abort();
		free(bytes);
	}
	if (made != size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct buf pieces = BUF_INIT;
	struct err err = {0};
	enum codec codec;
	uint8_t *whole;
	size_t size;
	int r;

	if (len < HEAD)
		return 0;
	codec = (enum codec)(data[0] % 8);
	size = le_get16(data + 1);
	whole = malloc(size + 1);
	r = size ? codec_unpack(codec, data + HEAD, len - HEAD, whole, size, &err) : -1;
	if (size && r < 0 && !err.text[0])
		abort();
	if (codec_split(codec, data + HEAD, len - HEAD, size, &pieces) == 0 && r == 0)
		look_at_pieces(&pieces, data + HEAD, len - HEAD, whole, size);
	buf_release(&pieces);
	free(whole);
	return 0;
}
