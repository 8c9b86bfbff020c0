/* Runs of extents as one read of whole pages, in every layout: cache/fill.h.
 *
 * No thread runs here: fills are made and read by hand, so that each layout is one read of the
 * very extents that it is about. */
#include "cache/fill.h"
#include "cache/plan/plan_run.h"
#include "tests/unit/cache_fixture.h"
#include "tests/unit/test.h"
#include <sys/mman.h>

#define BUDGET	(12 * MIB)
#define LAYOUTS (1200 / SLOWER) /* in each way */

/* --- fills by hand ------------------------------------------------------------------------------
 */

static struct fill *fill_of(struct world *w, const uint64_t *extents, unsigned count)
{
	struct fill *fill = fill_new(count);

	assert_non_null(fill);
	for (unsigned i = 0; i < count; i++) {
		const struct extent place = cache_extent(w->cache, extents[i]);

		assert_int_equal(pool_add(w->cache->pool, &place, POOL_USED, &fill->extents[i]), 0);
	}
	return fill;
}

static void open_cache(struct world *w, enum way way)
{
	struct cache_params params = params_for(w, way, 0, 1);

	params.budget = BUDGET;
	w->slow = false;
	cache_free(w->cache);
	w->cache = NULL;
	assert_int_equal(cache_new(&params, &w->cache), 0);
	w->checks = 0;
}

/* What is in the page cache should not need a second try, unless memory was short. */
static void read_fill(struct world *w, enum way way, struct fill *fill)
{
	if (way != IN_MEMORY || !request_read_now(w->cache, fill))
		request_read(w->cache, fill);
}

/* Compares again: nothing that came after it has touched it. */
static void assert_holds(struct world *w, uint64_t extent)
{
	const struct pool_extent *x = pool_find(w->cache->pool, extent);
	struct iovec iov[CACHE_EXTENT_MAX / SLOT_BYTES + 2];

	assert_non_null(x);
	assert_int_equal(x->state, POOL_READY);
	assert_int_equal(x->pins, 0);
	assert_true(same(w, w->offsets[extent], w->sizes[extent], iov,
			 pool_iov(w->cache->pool, x, 0, x->is.size, iov)));
}

/* The last time. */
static void assert_failed(struct world *w, uint64_t extent, int error)
{
	assert_false(is_there(w, extent));
	assert_true(w->failed[extent] > 0);
	assert_int_equal(w->last_error, error);
}

/* Its memory is for the next, and full of old bytes. */
static void forget(struct world *w, uint64_t extent)
{
	struct pool_extent *x = pool_find(w->cache->pool, extent);

	pool_pin(w->cache->pool, x);
	pool_failed(w->cache->pool, x, -ESTALE);
	pool_unpin(w->cache->pool, x);
}

static void read_run(struct world *w, enum way way, const uint64_t *extents, unsigned count)
{
	read_fill(w, way, fill_of(w, extents, count));
	for (unsigned i = 0; i < count; i++) {
		assert_holds(w, extents[i]);
		forget(w, extents[i]);
	}
}

static void resolve(void *context, uint64_t number, struct extent *ret)
{
	*ret = extent_at(context, number);
}

/* The longest run from extent `at` on that is ever read; returns the extent behind it. */
static uint64_t read_longest(struct world *w, enum way way, uint64_t at)
{
	const struct plan_view view = {.extents = w->extents, .context = w, .resolve = resolve};
	const struct prefetch_budget budget = {.run = LEARNER_RUN_MAX, .gap = LEARNER_GAP_MAX};
	struct plan_run run;
	struct plan_run_builder builder =
		plan_run_begin(&view, &budget, PLAN_SWEEP, UINT64_MAX, &run);

	while (at < w->extents && plan_run_add(&builder, at))
		at++;
	read_run(w, way, run.extents, run.count);
	return at;
}

static void read_layout(struct world *w, enum way way)
{
	uint64_t runs = 0;

	w->checks = 0;
	w->reader->reads = 0;
	for (uint64_t at = 0; at < w->extents; runs++)
		at = read_longest(w, way, at);
	assert_int_equal(w->checks, w->extents);
	if (way == DIRECT)
		assert_int_equal(w->reader->reads, runs);
}

/* So many layouts, the same in each way. */
static void read_layouts(struct world *w, unsigned count, void next(struct world *w, unsigned i))
{
	for (enum way way = 0; way < WAYS; way++) {
		if (!can(w, way))
			continue;
		open_cache(w, way);
		srandom(7);
		for (unsigned i = 0; i < count; i++) {
			next(w, i);
			read_layout(w, way);
		}
	}
}

static void begin_layout(struct world *w, uint64_t at)
{
	w->extents = 0;
	w->bytes = at;
}

/* --- layouts ------------------------------------------------------------------------------------
 */

/* The file is longer before, so that its last page has other bytes. */
static void lay_end(struct world *w, unsigned i)
{
	uint64_t end = 64 * KIB - 97 * i, size = 1 + random_below(20 * KIB);
	uint64_t before = random_below(10000);

	begin_layout(w, end - size - before - 1);
	lay(w, 0, 1);
	lay(w, before, size);
	assert_int_equal(w->bytes, end);
	assert_int_equal(ftruncate(w->fd, (off_t)end), 0);
}

TEST_OF(w, the_file_may_end_anywhere_in_its_last_page)
{
	lay(w, 0, 64 * KIB);
	write_file(w);
	for (enum way way = 0; way < WAYS; way++) {
		if (!can(w, way))
			continue;
		assert_int_equal(pwrite(w->fd, w->image, 64 * KIB, 0), 64 * KIB);
		open_cache(w, way);
		for (unsigned i = 0; i < 150; i++) {
			lay_end(w, i);
			read_layout(w, way);
		}
	}
}

/* The page that a gap begins or ends in is not the gap's alone. */
static uint64_t any_gap(void)
{
	static const uint64_t edges[] = {1,
					 CACHE_PAGE - 1,
					 CACHE_PAGE,
					 CACHE_PAGE + 1,
					 2 * CACHE_PAGE - 1,
					 LEARNER_GAP_MIN,
					 LEARNER_GAP_MAX - CACHE_PAGE,
					 LEARNER_GAP_MAX - 1,
					 LEARNER_GAP_MAX};

	switch (random() % 8) {
	case 0:
		return random_below(CACHE_PAGE);
	case 1:
		return random_below(64 * KIB);
	case 2:
		return random() % 8 ? 0 : random_below(LEARNER_GAP_MAX + 2 * CACHE_PAGE);
	case 3:
		return edges[(uint64_t)random() % (random() % 8 ? 5 : 9)];
	default:
		return 0;
	}
}

#define FILE_BYTES (6 * MIB + 12345)

/* Somewhere in the file or, every other one, at its very end, as tiny or as large as can be, back
 * to back or with gaps. */
static void lay_anything(struct world *w, unsigned i)
{
	uint64_t most_log = 4 + (uint64_t)random() % 17, count = 1 + random_below(60), left, shift;

	begin_layout(w, 0);
	while (count--) {
		uint64_t gap = any_gap(), size = 1 + random_below((uint64_t)1 << most_log);

		if (random() % 8 == 0) /* whole pages */
			size = min(cache_page_up(size), CACHE_EXTENT_MAX);
		if (w->bytes + gap + size > FILE_BYTES)
			break;
		lay(w, gap, size);
	}
	left = FILE_BYTES - w->bytes;
	shift = i % 2 ? left : random_below(left + 1);
	for (uint64_t e = 0; e < w->extents; e++)
		w->offsets[e] += shift;
}

TEST_OF(w, any_layout_is_read_right)
{
	lay(w, 0, FILE_BYTES);
	write_file(w);
	read_layouts(w, LAYOUTS, lay_anything);
}

/* Takes all memory and gives it back in disorder: no two slots of an extent are neighbours. */
static void scatter_slots(struct world *w)
{
	enum { SLOTS = BUDGET / SLOT_BYTES };
	struct pool_extent *all[SLOTS];
	uint64_t order[SLOTS];

	for (uint64_t i = 0; i < SLOTS; i++) {
		const struct extent place = {.number = MOST + i, .size = 1};

		assert_int_equal(pool_add(w->cache->pool, &place, POOL_USED, &all[i]), 0);
	}
	shuffle(order, SLOTS);
	for (uint64_t i = 0; i < SLOTS; i++) {
		pool_failed(w->cache->pool, all[order[i]], -EIO);
		pool_unpin(w->cache->pool, all[order[i]]);
	}
}

/* As many extents as a run may have, as many bytes, gaps, and memory in as many pieces. */
TEST_OF(w, the_longest_run_is_one_read)
{
	const uint64_t each = LEARNER_RUN_MAX / PLAN_RUN_EXTENTS;
	uint64_t all[PLAN_RUN_EXTENTS];

	for (unsigned i = 0; i < PLAN_RUN_EXTENTS; i++) {
		uint64_t gap = i % 2 && each > 3 * CACHE_PAGE ? 2 * CACHE_PAGE : 0;

		lay(w, gap, each - gap - 1);
		all[i] = i;
	}
	write_file(w);
	for (enum way way = 0; way < WAYS; way++) {
		if (!can(w, way))
			continue;
		open_cache(w, way);
		scatter_slots(w);
		read_run(w, way, all, PLAN_RUN_EXTENTS);
		if (way == DIRECT)
			assert_int_equal(w->reader->reads, 1);
	}
}

/* --- what is not read -------------------------------------------------------------------------
 */

/* As of a reader that keeps a copy, in which the third extent is damaged. */
static struct world *copy_of;
static uint64_t said_bad, said_len;

static bool forget_the_copy(struct reader *reader, uint64_t offset, uint64_t len)
{
	(void)reader;
	said_bad = offset;
	said_len = len;
	copy_of->bad[2] = false;
	return true;
}

TEST_OF(w, what_a_copy_has_wrong_is_read_again_from_elsewhere)
{
	const struct reader_ops *plain = w->reader->ops;
	struct reader_ops ops = *plain;
	const uint64_t all[] = {0, 1, 2, 3, 4};

	ops.bad = forget_the_copy;
	copy_of = w;
	lay_even(w, 5, 10000);
	for (enum way way = 0; way < WAYS; way++) {
		if (!can(w, way))
			continue;
		w->bad[2] = true;
		open_cache(w, way);
		w->reader->ops = &ops;
		read_run(w, way, all, 5);
		w->reader->ops = plain;
		assert_false(w->bad[2]);
		assert_int_equal(w->checks, 6);
	}
	assert_int_equal(said_bad, 20000 / CACHE_PAGE * CACHE_PAGE);
	assert_int_equal(said_bad + said_len, cache_page_up(30000));
}

/* The cut is in the middle of the third, and of a page. */
TEST_OF(w, a_run_across_the_end_of_the_file_fails_from_there_on)
{
	const uint64_t all[] = {0, 1, 2, 3};

	lay_even(w, 4, 10000);
	for (enum way way = DIRECT; way <= BUFFERED; way++) {
		if (!can(w, way))
			continue;
		assert_int_equal(ftruncate(w->fd, 25000), 0);
		open_cache(w, way);
		request_read(w->cache, fill_of(w, all, 4));
		assert_holds(w, 0);
		assert_holds(w, 1);
		assert_failed(w, 2, -ENODATA);
		assert_failed(w, 3, -ENODATA);
	}
	assert_int_equal(w->checks, 2);
}

/* Direct reads must not be given up for a file that ended early. */
TEST_OF(w, the_end_of_the_file_is_no_reason_to_read_buffered)
{
	const uint64_t last = 3;

	lay_even(w, 4, 10000);
	if (!can(w, DIRECT))
		skip();
	assert_int_equal(ftruncate(w->fd, 35000), 0);
	open_cache(w, DIRECT);
	request_read(w->cache, fill_of(w, &last, 1));
	assert_failed(w, last, -ENODATA);
	assert_true(stats_of(w).direct);
}

TEST_OF(w, what_is_read_ahead_is_left_when_the_cache_stops)
{
	const uint64_t all[] = {0, 1};
	struct fill *fill;

	lay_even(w, 2, 10000);
	open_cache(w, BUFFERED);
	w->cache->stopping = true;
	fill = fill_of(w, all, 1);
	fill->ahead = true;
	request_read(w->cache, fill);
	assert_false(is_there(w, 0));
	assert_int_equal(w->failed[0], 0);
	assert_int_equal(w->reader->reads, 0);
	read_run(w, BUFFERED, &all[1], 1); /* somebody waits for it */
}

static uint64_t pages_in_memory(struct world *w)
{
	uint64_t page = (uint64_t)getpagesize();
	uint64_t count = 0, pages = (w->bytes + page - 1) / page;
	SCOPE_FREE unsigned char *in = malloc(pages);
	void *map = mmap(NULL, w->bytes, PROT_READ, MAP_SHARED, w->fd, 0);

	assert_true(map != MAP_FAILED && in);
	assert_int_equal(mincore(map, w->bytes, in), 0);
	munmap(map, w->bytes);
	for (uint64_t i = 0; i < pages; i++)
		count += in[i] & 1;
	return count;
}

/* A look at the page cache that made the kernel read would have the device read all twice. */
TEST_OF(w, what_is_cold_is_read_once_and_directly)
{
	lay_even(w, 16, MIB);
	if (!can(w, DIRECT))
		skip();
	open_cache(w, DIRECT);
	forget_file(w);
	if (pages_in_memory(w))
		skip(); /* somebody maps it, or the filesystem keeps it */
	for (uint64_t e = 0; e < 16; e++) {
		struct fill *fill = fill_of(w, &e, 1);

		assert_false(request_read_now(w->cache, fill));
		assert_int_equal(w->checks, e);
		request_read(w->cache, fill);
		assert_holds(w, e);
		forget(w, e);
	}
	print_message("%llu pages came into the page cache\n",
		      (unsigned long long)pages_in_memory(w));
	assert_true(pages_in_memory(w) <= 16 * MIB / CACHE_PAGE / 10);
}
