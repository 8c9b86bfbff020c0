/* Snappy's format (google/snappy, format_description.txt): the length as a varint, then elements,
 * each bytes that stand there (a literal), or a copy of what came before, so many bytes back.
 *
 * Its library compresses each 64 KiB by themselves: no element, and no copy, reaches over a
 * multiple of that. So a page is cut there, and an image of it costs what lies around it, not the
 * page, which has 10 MB, as pyarrow writes 100 photos. */
#include "base/size.h"
#include "pack/foreign/codec.h"
#include <stdbool.h>

#define FRAGMENT (64 * KIB)
#define PIECE	 (2 * FRAGMENT)

struct snappy {
	const uint8_t *bytes;
	size_t at, len; /* of the packed bytes */
	size_t made;	/* bytes that come of those before `at` */
};

static size_t number(const struct snappy *s, size_t at, unsigned bytes)
{
	size_t n = 0;

	for (unsigned i = 0; i < bytes; i++)
		n |= (size_t)s->bytes[at + i] << 8 * i;
	return n;
}

static bool skip_length(struct snappy *s)
{
	while (s->at < s->len && s->at < 10 && s->bytes[s->at] & 0x80)
		s->at++;
	return s->at++ < s->len;
}

/* Passes an element, of which a copy goes `*back` bytes back. */
static bool pass_element(struct snappy *s, size_t *back)
{
	static const uint8_t operands[] = {0, 1, 2, 4};
	uint8_t tag = s->bytes[s->at];
	bool literal = (tag & 3) == 0;
	unsigned bytes = literal && tag >> 2 >= 60 ? (tag >> 2) - 59u : operands[tag & 3];
	size_t n, size;

	if (bytes >= s->len - s->at)
		return false;
	n = number(s, s->at + 1, bytes);
	size = (tag & 3) == 1 ? (tag >> 2 & 7u) + 4u : (tag >> 2) + 1u;
	if (literal && bytes)
		size = n + 1;
	*back = literal ? 0 : (tag & 3) == 1 ? (size_t)(tag >> 5) << 8 | n : n;
	s->at += 1 + bytes;
	s->made += size;
	if (literal && size > s->len - s->at)
		return false;
	s->at += literal ? size : 0;
	return true;
}

/* Passes the elements of a piece; none of them needs what was before it. */
static bool pass_piece(struct snappy *s, struct codec_piece *ret)
{
	size_t begin = s->at, made = s->made;

	while (s->at < s->len && (s->made - made < PIECE || s->made % FRAGMENT)) {
		size_t before = s->made, back;

		if (!pass_element(s, &back) || back > before - made)
			return false;
	}
	*ret = (struct codec_piece){begin, (uint32_t)(s->at - begin), (uint32_t)(s->made - made),
				    CODEC_SNAPPY_PIECE};
	return true;
}

/* 1: it is cut; 0: it cannot be. */
static int split_snappy(const uint8_t *packed, size_t len, size_t unpacked, struct buf *ret)
{
	struct snappy s = {.bytes = packed, .len = len};
	struct codec_piece piece;
	int r = 0;

	if (!skip_length(&s))
		return 0;
	while (r == 0 && s.at < s.len) {
		if (!pass_piece(&s, &piece))
			return 0;
		r = buf_add(ret, &piece, sizeof(piece));
	}
	return r < 0 ? r : s.made == unpacked;
}

int codec_split(enum codec codec, const void *packed, size_t len, size_t unpacked, struct buf *ret)
{
	const struct codec_piece whole = {0, (uint32_t)len, (uint32_t)unpacked, codec};
	size_t before = ret->len;
	int r = codec == CODEC_SNAPPY ? split_snappy(packed, len, unpacked, ret) : 0;

	if (r != 0)
		return r < 0 ? r : 0;
	ret->len = before;
	return buf_add(ret, &whole, sizeof(whole));
}
