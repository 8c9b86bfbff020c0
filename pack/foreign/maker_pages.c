#include "pack/foreign/maker_pages.h"
#include "base/le.h"
#include "base/math.h"
#include <inttypes.h>

void maker_pages_release(struct maker_pages *pages)
{
	buf_release(&pages->held);
	buf_release(&pages->pieces);
	*pages = (struct maker_pages){0};
}

/* `pieces`, unless it is NULL, gets the parts that unpack by themselves. */
static int unpack(const struct maker_page *page, struct foreign_source *source, struct buf *ret,
		  struct buf *pieces, struct err *err)
{
	enum codec codec = (enum codec)page->codec;
	const uint8_t *packed;
	int r;

	if (page->unpacked > FOREIGN_MOST)
		return err_set(err, -EOPNOTSUPP,
			       "a compressed page of over 64 MiB: smaller row groups have "
			       "smaller pages");
	r = foreign_get(source, page->offset, page->packed, &packed, err);
	if (r == 0)
		r = buf_reserve(ret, page->unpacked + 1);
	if (r == 0 && page->unpacked)
		r = codec_unpack(codec, packed, page->packed, ret->data, page->unpacked, err);
	if (r == 0 && pieces)
		r = codec_split(codec, packed, page->packed, page->unpacked, pieces);
	if (r == 0)
		ret->len = page->unpacked;
	return r;
}

static int named(const struct maker_page *page, int r, struct err *err)
{
	if (r == -EOPNOTSUPP)
		r = -ENOPKG;
	return r < 0 ? err_set(err, r, "record %" PRIu64 ": %s", page->record, err_text(err, r))
		     : 0;
}

int maker_page_unpack(const struct maker_page *page, struct foreign_source *source, struct buf *ret,
		      struct err *err)
{
	return named(page, unpack(page, source, ret, NULL, err), err);
}

int maker_pages_hold(struct maker_pages *pages, const struct maker_page *page,
		     struct foreign_source *source, struct err *err)
{
	int r;

	pages->held.len = pages->pieces.len = 0;
	r = unpack(page, source, &pages->held, &pages->pieces, err);
	pages->place = (struct foreign_packed){
		.offset = page->offset,
		.size = pages->held.len,
		.pieces = BUF_ITEMS(&pages->pieces, const struct codec_piece),
		.count = BUF_COUNT(&pages->pieces, struct codec_piece)};
	return named(page, r, err);
}

int maker_pages_look(const struct maker_pages *pages, struct foreign_source *source,
		     uint64_t offset, uint64_t len, const uint8_t **ret, size_t *ret_len)
{
	if (!pages)
		return foreign_peek(source, offset, (size_t)min(len, (uint64_t)FOREIGN_MOST), ret,
				    ret_len);
	offset = min(offset, (uint64_t)pages->held.len);
	*ret = (const uint8_t *)pages->held.data + offset;
	*ret_len = (size_t)min(len, pages->held.len - offset);
	return 0;
}

int maker_pages_sizes(const struct maker_pages *pages, struct foreign_source *source,
		      uint64_t offset, uint64_t len, uint64_t count, struct buf *ret)
{
	uint64_t step = 0;
	int r = 0;

	for (; r == 0 && count > 0 && step <= len; count--) {
		const uint8_t *bytes;
		size_t found;

		offset += step;
		len -= step;
		r = maker_pages_look(pages, source, offset, min(len, (uint64_t)4), &bytes, &found);
		if (r < 0 || found < 4)
			break;
		step = 4 + (uint64_t)le_get32(bytes);
		r = buf_add(ret, bytes, 4);
	}
	return r;
}
