/* Whatever the bytes: the footer is read or refused, and values lie within the file or a page. */
#include "pack/foreign/codec.h"
#include "pack/foreign/record/parquet_page.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/foreign_bytes.h"

#define VALUES 1000

/* The pieces of an unpacked page unpack, each by itself, to its bytes. */
static void look_at_pieces(struct foreign_source *source, const struct parquet_body *body)
{
	const struct codec_piece *piece = (const void *)body->pieces.data;
	const struct codec_piece *end = piece + body->pieces.len / sizeof(*piece);
	uint64_t made = 0;

	for (; piece < end; made += piece++->unpacked) {
		void *bytes = malloc(piece->unpacked + 1);
		const uint8_t *packed;

		if (piece->unpacked > body->size - made ||
		    foreign_get(source, body->offset + piece->offset, piece->packed, &packed,
				NULL) ||
		    codec_unpack(piece->codec, packed, piece->packed, bytes, piece->unpacked,
				 NULL) ||
		    memcmp(bytes, body->unpacked.data + made, piece->unpacked) != 0)
			abort();
		free(bytes);
	}
	if (made != body->size)
		abort();
}

static void look_at(struct foreign_source *source, const struct parquet_footer *footer, unsigned i)
{
	const struct parquet_chunk *chunks = (const void *)footer->chunks.data;
	struct parquet_column column = {0};
	struct parquet_value value;
	uint64_t same;
	struct err err = {0};

	parquet_column_init(&column, source, &parquet_leaves(footer)[i], &chunks[i], i % 2);
	for (unsigned n = 0; n < VALUES; n++) {
		if (parquet_column_next(&column, 1, &value, &same, &err) < 0)
			break;
		uint64_t all = value.in_memory ? value.body->size : source->size;

		if (value.offset > all || value.size > all - value.offset)
			abort();
		if (n == 0 && value.in_memory && value.body->pieces.len)
			look_at_pieces(source, value.body);
	}
	parquet_column_release(&column);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct parquet_footer footer = {0};
	struct foreign_bytes bytes;
	struct err err = {0};

	foreign_bytes_init(&bytes, data, size);
	if (parquet_footer_read(&bytes.source, &footer, &err) == 0 && footer.groups.len)
		for (unsigned i = 0; i < parquet_leaf_count(&footer); i++)
			look_at(&bytes.source, &footer, i);
	parquet_footer_release(&footer);
	foreign_bytes_release(&bytes);
	return 0;
}
