#include "remote/block_parts.h"

static void append_part(struct part *parts, unsigned *count, struct part next)
{
	struct part *last = *count ? &parts[*count - 1] : NULL;

	if (last && (last->near == next.near || *count == PARTS_MOST)) {
		last->end = next.end;
		last->near &= next.near;
	} else {
		parts[(*count)++] = next;
	}
}

/* Joins the last two parts that the copy lacks over a short one that it has. */
static void join_over_gap(struct part *parts, unsigned *count)
{
	const struct part *gap;

	if (*count < 3)
		return;
	gap = &parts[*count - 2];
	if (!gap->near || gap->end - gap->begin >= PARTS_GAP)
		return;
	parts[*count - 3].end = parts[*count - 1].end;
	*count -= 2;
}

unsigned parts_divide(const struct blocks *blocks, uint64_t begin, uint64_t end,
		      struct part ret[static PARTS_MOST])
{
	unsigned count = 0;

	while (begin < end) {
		struct part part = {.begin = begin, .end = end};

		part.near = blocks_look(blocks, begin, end, &part.end);
		append_part(ret, &count, part);
		join_over_gap(ret, &count);
		begin = part.end;
	}
	return count;
}

int part_pieces(const struct part *part, const struct iovec *iov, int count, uint64_t offset,
		struct iovec *ret)
{
	uint64_t skip = part->begin - offset, len = part->end - part->begin;
	int used = 0;

	for (int i = 0; i < count && len; i++) {
		uint64_t size = iov[i].iov_len, take;

		if (skip >= size) {
			skip -= size;
			continue;
		}
		take = size - skip < len ? size - skip : len;
		ret[used++] = (struct iovec){
			.iov_base = iov[i].iov_base ? (char *)iov[i].iov_base + skip : NULL,
			.iov_len = take};
		len -= take;
		skip = 0;
	}
	return used;
}

uint64_t part_bytes(const struct blocks *blocks, const struct part *part)
{
	uint64_t size = blocks_size(blocks);

	return (part->end < size ? part->end : size) - part->begin;
}
