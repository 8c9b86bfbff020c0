#include "pack/foreign/unpacked.h"
#include "base/math.h"
#include "base/scope.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define KEPT	    4u /* pages */
#define FIRST_CODEC 0x100u
#define MOST	    ((uint32_t)64 << 20)

struct page {
	uint64_t offset; /* in the source */
	uint64_t start;
	uint32_t packed, unpacked;
	enum codec codec;
};

struct kept {
	uint8_t *bytes; /* NULL: none */
	size_t page;
	uint64_t used;
};

struct unpacked_reader {
	struct reader reader;
	struct reader *source;
	pthread_mutex_t lock;
	struct kept kept[KEPT]; /* by `lock` */
	uint64_t uses;		/* by `lock` */
	uint64_t size;
	size_t count;
	struct page pages[]; /* by start */
};

static struct unpacked_reader *unpacked_of(struct reader *reader)
{
	return (struct unpacked_reader *)(void *)reader;
}

/* --- rows ------------------------------------------------------------------------------------- */

struct foreign_picture foreign_packed_row(const struct foreign_packed *page, uint64_t start)
{
	return (struct foreign_picture){
		.start = start,
		.offset = page->offset,
		.pixels = {.width = page->unpacked,
			   .height = page->packed,
			   .layout = (enum foreign_layout)(FIRST_CODEC + page->codec)}};
}

bool foreign_is_packed(const struct foreign_picture *row)
{
	return row->pixels.layout >= FIRST_CODEC;
}

static int take_row(struct unpacked_reader *all, const struct foreign_picture *row,
		    uint64_t source_size)
{
	struct page page = {.offset = row->offset,
			    .start = row->start,
			    .packed = row->pixels.height,
			    .unpacked = row->pixels.width,
			    .codec = (enum codec)(row->pixels.layout - FIRST_CODEC)};

	if (!foreign_is_packed(row) || page.start != all->size || page.unpacked == 0 ||
	    page.unpacked > MOST || page.packed > MOST || page.offset > source_size ||
	    page.packed > source_size - page.offset)
		return -EBADMSG;
	all->pages[all->count++] = page;
	all->size += ((uint64_t)page.unpacked + READER_PAGE - 1) / READER_PAGE * READER_PAGE;
	return 0;
}

/* --- pages ------------------------------------------------------------------------------------ */

static int unpack(struct unpacked_reader *all, const struct page *page, uint8_t **ret)
{
	SCOPE_FREE uint8_t *packed = malloc((size_t)page->packed + 1);
	SCOPE_FREE uint8_t *bytes = malloc(page->unpacked);
	int r = packed && bytes ? 0 : -ENOMEM;

	if (r == 0)
		r = reader_get_full(all->source, packed, page->packed, page->offset);
	if (r == 0)
		r = codec_unpack(page->codec, packed, page->packed, bytes, page->unpacked, NULL);
	if (r < 0)
		return r == -EBADMSG ? -EIO : r;
	*ret = steal_ptr(&bytes);
	return 0;
}

/* With the lock. */
static int find(struct unpacked_reader *all, size_t page, const uint8_t **ret)
{
	struct kept *oldest = &all->kept[0];
	uint8_t *bytes;
	int r;

	for (struct kept *k = all->kept; k < all->kept + KEPT; k++) {
		if (k->bytes && k->page == page) {
			k->used = ++all->uses;
			*ret = k->bytes;
			return 0;
		}
		if (k->used < oldest->used)
			oldest = k;
	}
	r = unpack(all, &all->pages[page], &bytes);
	if (r < 0)
		return r;
	free(oldest->bytes);
	*oldest = (struct kept){bytes, page, ++all->uses};
	*ret = bytes;
	return 0;
}

static int copy(struct unpacked_reader *all, size_t page, uint64_t from, uint8_t *out, size_t len)
{
	const uint8_t *bytes;
	int r;

	pthread_mutex_lock(&all->lock);
	r = find(all, page, &bytes);
	if (r == 0)
		memcpy(out, bytes + from, len);
	pthread_mutex_unlock(&all->lock);
	return r;
}

/* The last that does not begin beyond the offset; there is one. */
static size_t page_at(const struct unpacked_reader *all, uint64_t offset)
{
	size_t low = 0, high = all->count - 1;

	while (low < high) {
		size_t middle = low + (high - low + 1) / 2;

		if (all->pages[middle].start <= offset)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* --- the reader ------------------------------------------------------------------------------- */

/* What lies between two pages is zero. */
static ssize_t unpacked_get(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	struct unpacked_reader *all = unpacked_of(reader);
	size_t done = 0;

	if (offset >= all->size)
		return 0;
	len = min(len, all->size - offset);
	memset(buf, 0, len);
	while (done < len) {
		size_t i = page_at(all, offset + done);
		const struct page *page = &all->pages[i];
		uint64_t from = offset + done - page->start;
		uint64_t end = i + 1 < all->count ? all->pages[i + 1].start : all->size;
		size_t n = min(len - done, sub_sat((uint64_t)page->unpacked, from));
		int r = n ? copy(all, i, from, (uint8_t *)buf + done, n) : 0;

		if (r < 0)
			return r;
		done += min(len - done, end - page->start - from);
	}
	return (ssize_t)len;
}

static int unpacked_prepare(struct reader *reader, enum reader_io io)
{
	(void)reader;
	(void)io;
	return 0;
}

static int unpacked_read(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			 uint64_t needed)
{
	uint64_t done = 0;

	for (int i = 0; i < count && done < needed; i++) {
		ssize_t n = unpacked_get(reader, iov[i].iov_base, iov[i].iov_len, offset + done);

		if (n < 0)
			return (int)n;
		done += (uint64_t)n;
	}
	return done < needed ? -ENODATA : 0;
}

static int unpacked_identity(struct reader *reader, struct reader_identity *ret)
{
	int r = reader_identity(unpacked_of(reader)->source, ret);

	ret->size = unpacked_of(reader)->size;
	return r;
}

static void unpacked_hints(const struct reader *reader, struct reader_hints *ret)
{
	*ret = reader_hints(((const struct unpacked_reader *)(const void *)reader)->source);
	ret->far = false;
	ret->direct = false;
}

static void unpacked_will_get(struct reader *reader, uint64_t offset, size_t len)
{
	(void)reader;
	(void)offset;
	(void)len;
}

/* With the lock. */
static void forget(struct unpacked_reader *all, size_t page)
{
	for (struct kept *k = all->kept; k < all->kept + KEPT; k++)
		if (k->bytes && k->page == page) {
			free(k->bytes);
			*k = (struct kept){0};
		}
}

static bool unpacked_bad(struct reader *reader, uint64_t offset, uint64_t len)
{
	struct unpacked_reader *all = unpacked_of(reader);
	bool again = false;

	if (offset >= all->size)
		return false;
	for (size_t i = page_at(all, offset); i < all->count && all->pages[i].start < offset + len;
	     i++) {
		pthread_mutex_lock(&all->lock);
		forget(all, i);
		pthread_mutex_unlock(&all->lock);
		again |= reader_bad(all->source, all->pages[i].offset, all->pages[i].packed);
	}
	return again;
}

static void unpacked_free(struct reader *reader)
{
	struct unpacked_reader *all = unpacked_of(reader);

	for (unsigned i = 0; i < KEPT; i++)
		free(all->kept[i].bytes);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

static const struct reader_ops unpacked_ops = {
	.prepare = unpacked_prepare,
	.read = unpacked_read,
	.get = unpacked_get,
	.will_get = unpacked_will_get,
	.identity = unpacked_identity,
	.hints = unpacked_hints,
	.bad = unpacked_bad,
	.free = unpacked_free,
};

int foreign_unpacked_reader(struct reader *source, const struct foreign_picture *rows, size_t count,
			    struct reader **ret)
{
	SCOPE_FREE struct unpacked_reader *all = NULL;
	struct reader_identity identity;
	int r = reader_identity(source, &identity);

	if (r < 0)
		return r;
	all = calloc(1, sizeof(*all) + count * sizeof(struct page));
	if (!all)
		return -ENOMEM;
	all->reader.ops = &unpacked_ops;
	all->source = source;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = take_row(all, &rows[i], identity.size);
	if (r == 0)
		r = -pthread_mutex_init(&all->lock, NULL);
	if (r < 0)
		return r;
	*ret = &steal_ptr(&all)->reader;
	return 0;
}
