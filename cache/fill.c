#include "cache/fill.h"

/* Of one extent, and of a run: its extents, and a gap before each. */
#define EXTENT_PIECES (CACHE_EXTENT_MAX / SLOT_BYTES + 1)
#define RUN_PIECES    (2 * PLAN_RUN_EXTENTS + PLAN_RUN_BYTES / SLOT_BYTES + EXTENT_PIECES)
_Static_assert(RUN_PIECES <= 1024, "IOV_MAX: a run is one read");

struct fill *fill_new(enum work_class class, unsigned count)
{
	struct fill *fill = calloc(1, sizeof(*fill) + count * sizeof(fill->extents[0]));

	if (fill) {
		fill->class = class;
		fill->count = count;
	}
	return fill;
}

static uint64_t offset_of(const struct cache *cache, const struct pool_extent *extent)
{
	uint64_t offset;
	uint32_t size;

	cache->source.locate(cache->source.context, extent->number, &offset, &size);
	return offset;
}

/* The memory for all extents of a fill as one read, with a place to throw away what lies between
 * them. Returns the number of pieces. */
static int gather(const struct cache *cache, const struct fill *fill, void *gap, struct iovec *iov)
{
	uint64_t end = offset_of(cache, fill->extents[0]);
	int count = 0;

	for (unsigned i = 0; i < fill->count; i++) {
		const struct pool_extent *extent = fill->extents[i];
		uint64_t offset = offset_of(cache, extent);

		if (offset > end)
			iov[count++] = (struct iovec){.iov_base = gap, .iov_len = offset - end};
		count += pool_iov(cache->pool, extent, 0, extent->size, iov + count);
		end = offset + extent->size;
	}
	return count;
}

typedef int read_fn(struct device *device, struct iovec *iov, int count, uint64_t offset);

static int read_run(struct cache *cache, const struct fill *fill, read_fn *read)
{
	struct iovec iov[RUN_PIECES];
	char gap[PLAN_GAP_BYTES];
	int pieces = gather(cache, fill, gap, iov);

	return read(&cache->device, iov, pieces, offset_of(cache, fill->extents[0]));
}

static int read_one(struct cache *cache, const struct pool_extent *extent)
{
	struct iovec iov[EXTENT_PIECES];
	int pieces = pool_iov(cache->pool, extent, 0, extent->size, iov);

	return device_read(&cache->device, iov, pieces, offset_of(cache, extent));
}

static int check(struct cache *cache, const struct pool_extent *extent)
{
	struct iovec iov[EXTENT_PIECES];
	int pieces;

	if (!cache->source.check)
		return 0;
	pieces = pool_iov(cache->pool, extent, 0, extent->size, iov);
	return cache->source.check(cache->source.context, extent->number, iov, pieces);
}

/* Whether the fill should be read at all. */
static int refused(struct cache *cache, const struct fill *fill)
{
	if (fill->class == WORK_AHEAD && atomic_load(&cache->stopping))
		return -ECANCELED;
	return cache->source.unchanged ? cache->source.unchanged(cache->source.context) : 0;
}

/* A read of several extents that fails is done again for each alone: only the one that cannot
 * be read is to suffer. */
void fill_wait(struct cache *cache, struct fill *fill, fill_done_fn *done)
{
	int refusal = refused(cache, fill);
	int error = refusal ? refusal : read_run(cache, fill, device_read);
	bool one_by_one = error && !refusal && fill->count > 1;

	for (unsigned i = 0; i < fill->count; i++) {
		struct pool_extent *extent = fill->extents[i];
		int r = one_by_one ? read_one(cache, extent) : error;

		done(cache, extent, r ? r : check(cache, extent));
	}
	free(fill);
}

bool fill_now(struct cache *cache, struct fill *fill, fill_done_fn *done)
{
	if (refused(cache, fill) < 0 || read_run(cache, fill, device_read_now) < 0)
		return false;
	for (unsigned i = 0; i < fill->count; i++)
		done(cache, fill->extents[i], check(cache, fill->extents[i]));
	free(fill);
	return true;
}
