/* An extent's memory begins with the page of the file that the extent begins in, so that the
 * device, which reads whole pages, can fill it in place:
 *
 *	file	|  page  |  page  |  page  |  page  |  page  |  page  |
 *		   AAAAAAAAAAAAAA    ...gap...    BBBBBBBBBCCCCCCCC
 *	iov	|-- memory of A --|- NULL -|----- memory of B ----|- of C --|
 *
 * Where an extent begins in the page in which the one before ends, that page is read once, for
 * the former, and copied. */
#include "cache/fill.h"
#include "base/clock.h"
#include "base/math.h"
#include "cache/cache_internal.h"
#include <string.h>

/* Of one extent, and of a run: its extents, and a gap before each. */
#define EXTENT_PIECES (CACHE_EXTENT_MAX / SLOT_BYTES + 2)
#define RUN_PIECES    1024
_Static_assert(5 * PLAN_RUN_EXTENTS / 2 + (LEARNER_RUN_MAX + CACHE_EXTENT_MAX) / SLOT_BYTES <=
		       RUN_PIECES,
	       "IOV_MAX: a run is one read");
_Static_assert(CACHE_PAGE % READER_PAGE == 0, "reads are of whole pages");
_Static_assert(LEARNER_GAP_MAX <= READER_GAP_MAX, "a gap is one piece");

/* Whole pages of the file. */
struct span {
	uint64_t begin, end;
};

struct fill *fill_new(unsigned count)
{
	struct fill *fill = calloc(1, sizeof(*fill) + count * sizeof(fill->extents[0]));

	if (fill)
		fill->count = count;
	return fill;
}

static struct span span_of(const struct pool_extent *extent)
{
	uint64_t offset = extent->is.offset, end = offset + extent->is.size;

	return (struct span){.begin = offset - offset % CACHE_PAGE, .end = cache_page_up(end)};
}

/* Bytes of the extent's memory that the read for the one before brings. */
static uint32_t overlap(const struct span *before, const struct span *span)
{
	return (uint32_t)sub_sat(before->end, span->begin);
}

/* The memory for extents first..end as one read. Returns the number of pieces. */
static int gather(const struct cache *cache, const struct fill *fill, unsigned first, unsigned end,
		  struct iovec *iov)
{
	struct span before = span_of(fill->extents[first]);
	int count = 0;

	before.end = before.begin;
	for (unsigned i = first; i < end; i++) {
		struct span span = span_of(fill->extents[i]);
		uint32_t shared = overlap(&before, &span);

		if (span.begin > before.end)
			iov[count++] = (struct iovec){.iov_len = span.begin - before.end};
		count += pool_iov_pages(cache->pool, fill->extents[i], shared,
					(uint32_t)(span.end - span.begin) - shared, iov + count);
		before = span;
	}
	return count;
}

/* Within one page of the file, which is never divided among slots. */
static void copy_shared(struct cache *cache, const struct fill *fill, unsigned first, unsigned end)
{
	for (unsigned i = first + 1; i < end; i++) {
		struct span before = span_of(fill->extents[i - 1]);
		struct span span = span_of(fill->extents[i]);
		uint32_t at = (uint32_t)(span.begin - before.begin),
			 shared = overlap(&before, &span);
		struct iovec source[2], target[2];

		if (!shared)
			continue;
		pool_iov_pages(cache->pool, fill->extents[i - 1], at, shared, source);
		pool_iov_pages(cache->pool, fill->extents[i], 0, shared, target);
		memcpy(target[0].iov_base, source[0].iov_base, shared);
	}
}

typedef int read_fn(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
		    uint64_t needed);

static int read_span(struct cache *cache, const struct fill *fill, unsigned first, unsigned end,
		     read_fn *read)
{
	struct iovec iov[RUN_PIECES];
	int pieces = gather(cache, fill, first, end, iov);
	const struct pool_extent *last = fill->extents[end - 1];
	uint64_t begin = span_of(fill->extents[first]).begin;
	int r = read(cache->reader, iov, pieces, begin, last->is.offset + last->is.size - begin);

	if (r == 0)
		copy_shared(cache, fill, first, end);
	return r;
}

/* It was read. */
static void tell_learner(struct cache *cache, const struct fill *fill)
{
	uint64_t begin = span_of(fill->extents[0]).begin;
	uint64_t end = span_of(fill->extents[fill->count - 1]).end;

	SCOPE_LOCK(&cache->lock);
	learner_read(&cache->ahead.learner,
		     &(struct learner_read){.bytes = end - begin,
					    .begin = fill->begin,
					    .end = fill->end,
					    .ahead = fill->ahead,
					    .under_way = cache->ahead.running});
}

static int read_timed(struct cache *cache, struct fill *fill)
{
	int r;

	fill->begin = clock_ns();
	r = read_span(cache, fill, 0, fill->count, reader_read);
	fill->end = clock_ns();
	if (r == 0)
		tell_learner(cache, fill);
	return r;
}

static int check(struct cache *cache, const struct pool_extent *extent)
{
	struct iovec iov[EXTENT_PIECES];
	int pieces = pool_iov(cache->pool, extent, 0, extent->is.size, iov);

	return cache->source.ops->check(cache->source.context, extent->is.number, iov, pieces);
}

/* Whether the fill should be read at all. May wait for storage. */
static int refused(struct cache *cache, const struct fill *fill)
{
	if (fill->ahead && atomic_load(&cache->stopping))
		return -ECANCELED;
	return cache->source.ops->unchanged(cache->source.context, fill->extents[0]->is.number);
}

void fill_read(struct cache *cache, struct fill *fill)
{
	int refusal = refused(cache, fill);

	fill->error = refusal ? refusal : read_timed(cache, fill);
	fill->one_by_one = fill->error && !refusal && fill->count > 1;
}

/* Storage that gives bytes without waiting gives the file's attributes so, too. Others, as a server
 * that is dead, would keep the caller. */
bool fill_read_now(struct cache *cache, struct fill *fill)
{
	return read_span(cache, fill, 0, fill->count, reader_read_now) >= 0 &&
	       refused(cache, fill) >= 0;
}

int fill_check(struct cache *cache, const struct fill *fill, unsigned i)
{
	struct span span = span_of(fill->extents[i]);
	int r = fill->one_by_one ? read_span(cache, fill, i, i + 1, reader_read) : fill->error;

	if (r)
		return r;
	r = check(cache, fill->extents[i]);
	if (r != -EBADMSG || !reader_bad(cache->reader, span.begin, span.end - span.begin))
		return r;
	r = read_span(cache, fill, i, i + 1, reader_read);
	return r < 0 ? r : check(cache, fill->extents[i]);
}

/* --- remote storage -------------------------------------------------------------------------- */

/* In a thread of the reader: what takes longer is for the I/O threads. */
static void on_read(void *arg, int error)
{
	struct fill *fill = arg;

	fill->end = clock_ns();
	fill->error = error;
	work_arrived(fill->cache->work, &fill->item);
}

static int make_request(struct cache *cache, struct fill *fill)
{
	const struct pool_extent *last = fill->extents[fill->count - 1];
	uint64_t begin = span_of(fill->extents[0]).begin;
	struct iovec iov[RUN_PIECES];
	int count = gather(cache, fill, 0, fill->count, iov);
	size_t size = (size_t)count * sizeof(*iov);

	fill->iov = malloc(size);
	if (!fill->iov)
		return -ENOMEM;
	memcpy(fill->iov, iov, size);
	fill->request = (struct reader_request){
		.iov = fill->iov,
		.count = count,
		.offset = begin,
		.needed = last->is.offset + last->is.size - begin,
		.done = on_read,
		.arg = fill,
	};
	return 0;
}

/* Somebody may have asked for one of the extents since they were added. */
static void allow_hurry(struct cache *cache, struct fill *fill)
{
	SCOPE_LOCK(&cache->lock);
	fill->request.ahead = true;
	for (unsigned i = 0; i < fill->count; i++) {
		fill->extents[i]->fill = fill;
		if (!pool_is_ahead(fill->extents[i]->use))
			fill->request.ahead = false;
	}
}

void fill_hurry(struct pool_extent *extent)
{
	struct fill *fill = extent->fill;

	if (fill)
		atomic_store(&fill->request.ahead, false);
}

void fill_submit(struct cache *cache, struct fill *fill)
{
	int r = refused(cache, fill);

	fill->cache = cache;
	work_expect(cache->work);
	if (r == 0)
		r = make_request(cache, fill);
	if (r < 0) {
		on_read(fill, r);
		return;
	}
	if (fill->ahead)
		allow_hurry(cache, fill);
	fill->begin = clock_ns();
	reader_submit(cache->reader, &fill->request);
}

bool fill_is_submitted(const struct fill *fill)
{
	return fill->cache;
}

/* As if somebody waited for each: they were waited for long enough. */
static struct fill *each_alone(struct cache *cache, struct fill *fill)
{
	struct fill *all = NULL, **end = &all;
	unsigned left = 0;

	for (unsigned i = 0; i < fill->count; i++) {
		struct fill *one = fill_new(1);

		if (!one) {
			fill->error = -ENOMEM;
			fill->extents[left++] = fill->extents[i];
			continue;
		}
		one->extents[0] = fill->extents[i];
		*end = one;
		end = &one->next;
		SCOPE_LOCK(&cache->lock);
		fill->extents[i]->fill = NULL;
	}
	fill->count = left;
	return all;
}

struct fill *fill_land(struct cache *cache, struct fill *fill)
{
	bool was_read = fill->begin && fill->error != -ECANCELED;

	if (fill->error == 0) {
		tell_learner(cache, fill);
		copy_shared(cache, fill, 0, fill->count);
	}
	return fill->error && was_read && fill->count > 1 ? each_alone(cache, fill) : NULL;
}
