/* Reads of extents of a real file through a pool that is too small: cache/cache.h.
 *
 * The check, which runs at every fill, compares with the file as it was written, and so does
 * every answer. Where a test needs a slow device, the source sends fills to the I/O threads and
 * stops these at a gate: who waits for what is the test's decision and never the clock's. */
#include "base/io.h"
#include "base/scope.h"
#include "cache/cache_internal.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SLOWER 4
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SLOWER 4
#endif
#endif
#ifndef SLOWER
#define SLOWER 1
#endif

#define MIB   ((uint64_t)1 << 20)
#define KIB   ((uint64_t)1 << 10)
#define CALLS 64   /* of a test */
#define MOST  4096 /* extents */

/* --- a file and its extents ------------------------------------------------------------------ */

struct world;

struct call {
	struct world *world;
	uint64_t extent;
	uint32_t from, size;
	atomic_uint done; /* times */
	int error;
	bool right; /* the bytes */
	bool held;  /* its answer takes long; protected by the world's lock */
};

/* A thread that reads what is in memory and keeps it pinned while it answers. */
struct holder {
	struct call call;
	pthread_t id;
};

struct world {
	char path[64];
	int fd;
	char *image; /* what the file holds */
	uint64_t bytes, extents;
	uint64_t offsets[MOST];
	uint32_t sizes[MOST];
	struct cache *cache;

	atomic_bool bad[MOST]; /* the check is to refuse it */
	atomic_uint failed[MOST];
	atomic_int last_error; /* told to failed() */
	atomic_bool wrong;     /* bytes that are not the file's came by */
	atomic_bool stale, slow;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Protected by lock: */
	bool closed;	  /* the gate */
	uint64_t gated;	  /* the extent whose check stops there too */
	unsigned at_gate; /* threads that arrived there, ever */
	unsigned answers; /* of calls */

	/* Of the test; here, so that they outlive one that fails. */
	struct call calls[CALLS];
	struct holder holders[2];
};

/* Set in threads of the test: fills of a slow device are not for them. */
static _Thread_local bool is_reader;

static void world_free(struct world *w)
{
	cache_free(w->cache);
	close(w->fd);
	unlink(w->path);
	free(w->image);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	strcpy(w->path, "/tmp/test_cache.XXXXXX");
	w->fd = mkstemp(w->path);
	assert_true(w->fd >= 0);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	w->gated = UINT64_MAX;
	is_reader = true;
	srandom(6);
	*state = w;
	return 0;
}

static void set_gate(struct world *w, bool closed)
{
	SCOPE_LOCK(&w->lock);
	w->closed = closed;
	pthread_cond_broadcast(&w->changed);
}

/* Returns when the thread is done with it, and with what it does for others then. */
static void let_go_of(struct holder *holder)
{
	struct world *w = holder->call.world;

	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	holder->call.held = false;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(holder->id, NULL);
	holder->call.world = NULL;
}

static int teardown(void **state)
{
	struct world *w = *state;

	if (w->cache) { /* some of this only matters where a test failed */
		set_gate(w, false);
		for (int i = 0; i < 2; i++)
			let_go_of(&w->holders[i]);
		cache_stop(w->cache);
	}
	world_free(w);
	return 0;
}

static void lay(struct world *w, uint64_t gap, uint64_t size)
{
	assert_true(w->extents < MOST);
	w->offsets[w->extents] = w->bytes + gap;
	w->sizes[w->extents++] = (uint32_t)size;
	w->bytes += gap + size;
}

static void write_file(struct world *w)
{
	uint64_t x = 12345;

	w->image = malloc(w->bytes + sizeof(x));
	assert_non_null(w->image);
	for (uint64_t i = 0; i < w->bytes; i += sizeof(x)) {
		x = x * 6364136223846793005 + 1442695040888963407;
		memcpy(w->image + i, &x, sizeof(x));
	}
	assert_int_equal(io_write_full(w->fd, w->image, w->bytes), 0);
}

static uint64_t random_below(uint64_t limit)
{
	return ((uint64_t)random() << 20 ^ (uint64_t)random()) % limit;
}

/* Any size from 1 byte to 1 MiB, small ones as often as large ones, some with gaps. */
static void lay_mixed(struct world *w, uint64_t bytes)
{
	while (w->bytes < bytes) {
		uint64_t most = (uint64_t)1 << (random() % 21);

		lay(w, random() % 3 ? 0 : random_below(100000), 1 + random_below(most));
	}
	write_file(w);
}

static void lay_even(struct world *w, uint64_t extents, uint64_t size)
{
	for (uint64_t i = 0; i < extents; i++)
		lay(w, 0, size);
	write_file(w);
}

/* Files of up to five extents, all but the last of each of full length. */
static void lay_large_files(struct world *w, uint64_t bytes)
{
	while (w->bytes < bytes) {
		for (long full = random() % 5; full; full--)
			lay(w, 0, MIB);
		lay(w, 0, 1 + random_below(MIB - 1));
	}
	write_file(w);
}

/* --- the source ------------------------------------------------------------------------------ */

static void locate(void *context, uint64_t extent, uint64_t *ret_offset, uint32_t *ret_size)
{
	const struct world *w = context;

	if (extent >= w->extents)
		abort();
	*ret_offset = w->offsets[extent];
	*ret_size = w->sizes[extent];
}

static bool same(const struct world *w, uint64_t offset, uint64_t size, const struct iovec *iov,
		 int count)
{
	for (int i = 0; i < count; i++) {
		if (iov[i].iov_len > size ||
		    memcmp(iov[i].iov_base, w->image + offset, iov[i].iov_len) != 0)
			return false;
		offset += iov[i].iov_len;
		size -= iov[i].iov_len;
	}
	return size == 0;
}

static void pass_gate(struct world *w)
{
	SCOPE_LOCK(&w->lock);
	w->at_gate++;
	pthread_cond_broadcast(&w->changed);
	while (w->closed)
		pthread_cond_wait(&w->changed, &w->lock);
}

static void wait_at_gate(struct world *w, unsigned count)
{
	SCOPE_LOCK(&w->lock);
	while (w->at_gate < count)
		pthread_cond_wait(&w->changed, &w->lock);
}

static int check(void *context, uint64_t extent, const struct iovec *iov, int count)
{
	struct world *w = context;

	if (extent == w->gated)
		pass_gate(w);
	if (!same(w, w->offsets[extent], w->sizes[extent], iov, count))
		w->wrong = true;
	return w->bad[extent] ? -EBADMSG : 0;
}

static int unchanged(void *context)
{
	struct world *w = context;

	if (w->slow && is_reader)
		return -EAGAIN; /* an I/O thread will ask again */
	if (w->slow)
		pass_gate(w);
	return w->stale ? -ESTALE : 0;
}

static void failed(void *context, uint64_t extent, int error)
{
	struct world *w = context;

	w->failed[extent]++;
	w->last_error = error;
}

static struct cache_params params_of(struct world *w, uint64_t readahead, unsigned threads)
{
	return (struct cache_params){.source = {.fd = w->fd,
						.extents = w->extents,
						.context = w,
						.locate = locate,
						.check = check,
						.unchanged = unchanged,
						.failed = failed},
				     .budget = CACHE_BUDGET_MIN,
				     .readahead = readahead,
				     .threads = threads,
				     .policy = &policy_lru};
}

static void start(struct world *w, uint64_t readahead, unsigned threads)
{
	const struct cache_params params = params_of(w, readahead, threads);

	assert_int_equal(cache_new(&params, &w->cache), 0);
	assert_int_equal(cache_start(w->cache), 0);
}

/* From here on fills are for the I/O threads, which wait at the gate. */
static void start_slow(struct world *w, uint64_t readahead, unsigned threads)
{
	w->slow = true;
	w->closed = true;
	start(w, readahead, threads);
}

/* --- requests --------------------------------------------------------------------------------- */

static void on_done(void *arg, int error, const struct iovec *iov, int count)
{
	struct call *call = arg;
	struct world *w = call->world;

	call->error = error;
	call->right =
		!error && same(w, w->offsets[call->extent] + call->from, call->size, iov, count);
	if (!error && !call->right)
		w->wrong = true;
	SCOPE_LOCK(&w->lock);
	call->done++;
	w->answers++;
	pthread_cond_broadcast(&w->changed);
	while (call->held)
		pthread_cond_wait(&w->changed, &w->lock);
}

static void ask(struct call *call, struct world *w, uint64_t extent, uint32_t from, uint32_t size)
{
	struct cache_request request = {extent, from, size, on_done, call};

	*call = (struct call){.world = w, .extent = extent, .from = from, .size = size};
	cache_read(w->cache, &request);
}

static void wait_answers(struct world *w, unsigned count)
{
	SCOPE_LOCK(&w->lock);
	while (w->answers < count)
		pthread_cond_wait(&w->changed, &w->lock);
}

static void *hold_thread(void *arg)
{
	struct call *call = arg;
	struct cache_request request = {call->extent, call->from, call->size, on_done, call};

	is_reader = true;
	cache_read(call->world->cache, &request);
	return NULL;
}

static void hold(struct holder *holder, struct world *w, uint64_t extent)
{
	unsigned answers = w->answers;

	holder->call = (struct call){.world = w, .extent = extent, .size = 1, .held = true};
	assert_int_equal(pthread_create(&holder->id, NULL, hold_thread, &holder->call), 0);
	wait_answers(w, answers + 1);
}

static void ask_all_of(struct call *call, struct world *w, uint64_t extent)
{
	ask(call, w, extent, 0, w->sizes[extent]);
}

static void wait_done(struct call *call)
{
	struct world *w = call->world;

	SCOPE_LOCK(&w->lock);
	while (!call->done)
		pthread_cond_wait(&w->changed, &w->lock);
}

static void assert_right(const struct call *call)
{
	assert_int_equal(call->done, 1);
	assert_int_equal(call->error, 0);
	assert_true(call->right);
}

static void assert_refused(const struct call *call, int error)
{
	assert_int_equal(call->done, 1);
	assert_int_equal(call->error, error);
}

/* Asks and waits. */
static void read_right(struct world *w, uint64_t extent, uint32_t from, uint32_t size)
{
	struct call call;

	ask(&call, w, extent, from, size);
	wait_done(&call);
	assert_right(&call);
}

static void read_refused(struct world *w, uint64_t extent, int error)
{
	struct call call;

	ask_all_of(&call, w, extent);
	wait_done(&call);
	assert_refused(&call, error);
}

static struct cache_stats stats_of(struct world *w)
{
	struct cache_stats stats;

	cache_stats(w->cache, &stats);
	return stats;
}

/* A request of up to three extents of one file. Returns how many it touches. */
static unsigned any_request(struct world *w, unsigned *seed, uint64_t *ret_extent,
			    uint32_t *ret_from, uint32_t *ret_size)
{
	uint64_t extent = (uint64_t)rand_r(seed) % w->extents, there = w->sizes[extent];
	uint32_t from = (uint32_t)((uint64_t)rand_r(seed) % there);
	uint64_t last = extent, end;

	while (w->sizes[last] == MIB && last + 1 < w->extents && last < extent + 2 &&
	       w->offsets[last + 1] == w->offsets[last] + MIB)
		there += w->sizes[++last];
	end = from + 1 + (uint64_t)rand_r(seed) % (there - from);
	*ret_extent = extent;
	*ret_from = from;
	*ret_size = (uint32_t)(end - from);
	return (unsigned)((end + MIB - 1) / MIB);
}

/* --- life ---------------------------------------------------------------------------------------
 */

static void a_budget_that_is_too_small_is_refused(void **state)
{
	struct world *w = *state;
	struct cache_params params;

	lay_even(w, 1, 1);
	params = params_of(w, 0, 1);
	params.budget--;
	assert_int_equal(cache_new(&params, &w->cache), -EINVAL);
	assert_null(w->cache);
}

static void a_cache_that_never_started_can_be_freed(void **state)
{
	struct world *w = *state;
	struct cache_params params;

	lay_even(w, 1, 1);
	params = params_of(w, 0, 4);
	assert_int_equal(cache_new(&params, &w->cache), 0);
	assert_string_equal(stats_of(w).policy, "lru");
	assert_int_equal(stats_of(w).budget, CACHE_BUDGET_MIN);
}

static void a_cache_without_check_needs_none(void **state)
{
	struct world *w = *state;
	struct cache_params params;

	lay_even(w, 3, 100);
	params = params_of(w, 0, 1);
	params.source.check = NULL;
	params.source.unchanged = NULL;
	w->bad[1] = true;
	assert_int_equal(cache_new(&params, &w->cache), 0);
	assert_int_equal(cache_start(w->cache), 0);
	read_right(w, 1, 10, 90);
	cache_stop(w->cache);
}

/* --- bytes --------------------------------------------------------------------------------------
 */

static void every_extent_has_its_own_bytes(void **state)
{
	struct world *w = *state;

	lay_mixed(w, 24 * MIB);
	start(w, 0, 4);
	for (uint64_t e = 0; e < w->extents; e++)
		read_right(w, e, 0, w->sizes[e]);
	for (uint64_t e = w->extents; e-- > 0;)
		read_right(w, e, w->sizes[e] / 2, w->sizes[e] - w->sizes[e] / 2);
	assert_false(w->wrong);
	cache_stop(w->cache);
}

static void a_cold_file_has_the_same_bytes(void **state)
{
	struct world *w = *state;

	lay_mixed(w, 12 * MIB);
	start(w, MIB, 2);
	assert_int_equal(fdatasync(w->fd), 0);
	posix_fadvise(w->fd, 0, 0, POSIX_FADV_DONTNEED);
	for (uint64_t e = 0; e < w->extents; e++)
		read_right(w, e, 0, w->sizes[e]);
	assert_false(w->wrong);
	cache_stop(w->cache);
}

static void requests_span_two_and_three_extents(void **state)
{
	static const uint32_t full = MIB;
	struct world *w = *state;

	for (int i = 0; i < 4; i++)
		lay(w, 0, MIB);
	lay(w, 0, 1000);
	write_file(w);
	start(w, 0, 2);
	read_right(w, 0, full - 1, 2);
	read_right(w, 0, full - 1, full + 2); /* a byte of the first and of the third */
	read_right(w, 1, 0, 3 * full);
	read_right(w, 2, 5, 2 * full + 1000 - 5); /* to the very end */
	read_right(w, 3, full - 70000, 70000 + 999);
	read_right(w, 3, full - 1, 1); /* not a byte of the next */
	assert_int_equal(stats_of(w).hits + stats_of(w).misses, 2 + 3 + 3 + 3 + 2 + 1);
	assert_false(w->wrong);
	cache_stop(w->cache);
}

static void a_request_for_nothing_is_answered(void **state)
{
	struct world *w = *state;

	lay_even(w, 2, 100);
	start(w, 0, 1);
	read_right(w, 1, 0, 0);
	cache_stop(w->cache);
}

/* --- sharing and counting ------------------------------------------------------------------- */

static void several_waiters_share_one_read(void **state)
{
	enum { WAITERS = 10 };
	struct world *w = *state;
	struct call *calls = w->calls;

	lay_even(w, 4, 100000);
	start_slow(w, 0, 4);
	for (uint32_t i = 0; i < WAITERS; i++)
		ask(&calls[i], w, 2, i * 1000, 5000);
	wait_at_gate(w, 1);
	for (uint32_t i = 0; i < WAITERS; i++)
		assert_int_equal(calls[i].done, 0);
	set_gate(w, false);
	wait_answers(w, WAITERS);
	cache_stop(w->cache);
	for (uint32_t i = 0; i < WAITERS; i++)
		assert_right(&calls[i]);
	assert_int_equal(stats_of(w).device_reads, 1);
	assert_int_equal(stats_of(w).misses, WAITERS);
	assert_int_equal(stats_of(w).wait_reads, WAITERS);
}

static void what_is_there_is_not_read_again(void **state)
{
	struct world *w = *state;

	lay_even(w, 10, 100000);
	start(w, 0, 2);
	for (uint32_t part = 0; part < 5; part++)
		for (uint64_t e = 0; e < 10; e++)
			read_right(w, e, part * 10000, 10000);
	cache_stop(w->cache);
	assert_int_equal(stats_of(w).misses, 10);
	assert_int_equal(stats_of(w).hits, 40);
	assert_int_equal(stats_of(w).device_bytes, 1000000);
	assert_int_equal(stats_of(w).served_bytes, 500000);
	assert_int_equal(stats_of(w).distinct_bytes, 0);
	assert_int_equal(stats_of(w).used, 10 * 7 * 16384);
	assert_int_equal(stats_of(w).evictions, 0);
	assert_int_equal(stats_of(w).bad_extents, 0);
}

static void what_was_served_in_full_makes_room_first(void **state)
{
	struct world *w = *state;

	lay_even(w, 10, 100000);
	start(w, 0, 2);
	for (int round = 0; round < 2; round++)
		for (uint64_t e = 0; e < 10; e++)
			read_right(w, e, 0, 100000);
	cache_stop(w->cache);
	assert_int_equal(stats_of(w).misses, 20); /* the kernel would not have asked again */
	assert_int_equal(stats_of(w).used, 7 * 16384);
	assert_int_equal(stats_of(w).evictions, 0);
	assert_int_equal(stats_of(w).served_bytes, 2000000);
	assert_int_equal(stats_of(w).distinct_bytes, 1000000);
}

static void an_extent_is_distinct_when_all_of_it_was_served(void **state)
{
	struct world *w = *state;

	lay_even(w, 2, 100000);
	start(w, 0, 2);
	read_right(w, 0, 0, 50000);
	assert_int_equal(stats_of(w).distinct_bytes, 0);
	read_right(w, 0, 50000, 50000);
	cache_stop(w->cache);
	assert_int_equal(stats_of(w).distinct_bytes, 100000);
}

/* --- reading ahead ---------------------------------------------------------------------------- */

static void a_scan_uses_all_that_was_read_ahead(void **state)
{
	struct world *w = *state;
	struct cache_stats stats;

	lay_even(w, 400, 110000);
	start(w, MIB, 4);
	for (uint64_t e = 0; e < w->extents; e++)
		for (uint32_t from = 0; from < 110000; from += 55000)
			read_right(w, e, from, 55000);
	cache_stop(w->cache);
	stats = stats_of(w);
	assert_true(stats.prefetch_issued >= 390 * 110000);
	assert_int_equal(stats.prefetch_used, stats.prefetch_issued);
	assert_int_equal(stats.prefetch_wasted, 0);
	assert_int_equal(stats.device_bytes, w->bytes);
	assert_true(stats.device_reads <= 3 + 2 * w->bytes / (512 * KIB));
	assert_int_equal(stats.distinct_bytes, w->bytes);
	assert_false(w->wrong);
}

static void small_gaps_are_read_over(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 400; i++)
		lay(w, random_below(65536), 1 + random_below(30000));
	write_file(w);
	start(w, MIB, 4);
	for (uint64_t e = 0; e < w->extents; e++)
		read_right(w, e, 0, w->sizes[e]);
	cache_stop(w->cache);
	assert_true(stats_of(w).device_reads < w->extents / 4);
	assert_false(w->wrong);
}

/* More pieces than one system call takes. */
static void runs_of_many_tiny_extents_are_read_right(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 4000; i++)
		lay(w, i % 2 ? 10 : 0, 100 + (uint64_t)i % 50);
	write_file(w);
	start(w, MIB, 2);
	for (uint64_t e = 0; e < w->extents; e++)
		read_right(w, e, 0, w->sizes[e]);
	cache_stop(w->cache);
	assert_true(stats_of(w).device_reads < w->extents / 50);
	assert_false(w->wrong);
}

/* Many scans at once want more ahead than there is room for: each byte is either used, lost or
 * still there, and every reader gets on. */
static void scans_that_outgrow_the_pool_get_on(void **state)
{
	enum { SCANS = 30 };
	struct world *w = *state;
	struct cache_stats stats;
	uint64_t each;

	lay_even(w, 1500, 20000);
	start(w, MIB, 4);
	each = w->extents / SCANS;
	for (uint64_t step = 0; step < each; step++)
		for (uint64_t s = 0; s < SCANS; s++)
			read_right(w, s * each + step, 0, 20000);
	cache_stop(w->cache);
	stats = stats_of(w);
	print_message("%.2f ahead, %.3f of it used\n",
		      (double)stats.prefetch_issued / (double)w->bytes,
		      (double)stats.prefetch_used / (double)stats.prefetch_issued);
	assert_true(stats.prefetch_issued > w->bytes / 5);
	assert_true(stats.prefetch_used + stats.prefetch_wasted <= stats.prefetch_issued);
	assert_true(stats.prefetch_wasted <= stats.prefetch_issued / 20);
	assert_false(w->wrong);
}

/* --- what goes wrong -------------------------------------------------------------------------- */

static void a_bad_extent_fails_for_its_readers_only(void **state)
{
	struct world *w = *state;

	lay_even(w, 20, 100000);
	w->bad[7] = true;
	start(w, 0, 2);
	for (uint64_t e = 0; e < 20; e++) {
		if (e == 7)
			read_refused(w, e, -EBADMSG);
		else
			read_right(w, e, 0, 100000);
	}
	assert_int_equal(w->failed[7], 1);
	assert_int_equal(w->last_error, -EBADMSG);
	assert_int_equal(stats_of(w).bad_extents, 1);
	w->bad[7] = false; /* a cable was put back */
	read_right(w, 7, 0, 100000);
	cache_stop(w->cache);
	assert_int_equal(stats_of(w).bad_extents, 1);
	assert_int_equal(stats_of(w).served_bytes, 20 * 100000);
}

static void a_request_with_a_bad_part_fails_and_serves_nothing(void **state)
{
	struct world *w = *state;
	struct call call;

	lay_even(w, 3, MIB);
	w->bad[1] = true;
	start(w, 0, 2);
	ask(&call, w, 0, 0, 3 * MIB);
	wait_done(&call);
	cache_stop(w->cache);
	assert_refused(&call, -EBADMSG);
	assert_int_equal(stats_of(w).served_bytes, 0);
	assert_int_equal(stats_of(w).distinct_bytes, 0);
}

/* Extents 3 and 4 are in one run, which was read ahead and waits in the check of 3 when readers
 * come for both. */
static void a_bad_extent_of_a_run_fails_for_its_readers_only(void **state)
{
	struct world *w = *state;
	struct call *calls = w->calls;

	lay_even(w, 100, 64 * KIB);
	w->bad[3] = true;
	w->gated = 3;
	w->closed = true;
	start(w, MIB, 2);
	for (uint64_t e = 0; e < 3; e++)
		read_right(w, e, 0, w->sizes[e]);
	wait_at_gate(w, 1);
	assert_true(stats_of(w).prefetch_issued >= 2 * 64 * KIB);
	for (unsigned i = 0; i < 4; i++)
		ask_all_of(&calls[i], w, 3 + i / 2);
	set_gate(w, false);
	wait_answers(w, 3 + 4);
	cache_stop(w->cache);
	assert_refused(&calls[0], -EBADMSG);
	assert_refused(&calls[1], -EBADMSG);
	assert_right(&calls[2]);
	assert_right(&calls[3]);
	assert_int_equal(w->failed[3], 1); /* told, although it had been read ahead */
	assert_int_equal(stats_of(w).bad_extents, 1);
}

static void a_bad_extent_that_nobody_asked_for_is_not_told(void **state)
{
	struct world *w = *state;
	struct cache_stats stats;

	lay_even(w, 100, 64 * KIB);
	for (uint64_t e = 3; e < 100; e++)
		w->bad[e] = true;
	start(w, MIB, 2);
	for (uint64_t e = 0; e < 3; e++)
		read_right(w, e, 0, w->sizes[e]);
	cache_stop(w->cache);
	stats = stats_of(w);
	assert_true(stats.prefetch_issued > 0);
	assert_int_equal(stats.bad_extents, 0);
	for (uint64_t e = 0; e < 100; e++)
		assert_int_equal(w->failed[e], 0);
	/* Lost, and no longer counted as being ahead: else reading ahead would end one day. */
	assert_int_equal(stats.prefetch_used + stats.prefetch_wasted, stats.prefetch_issued);
}

static void a_source_that_changed_is_not_read(void **state)
{
	struct world *w = *state;

	lay_even(w, 10, 100000);
	start(w, MIB, 2);
	read_right(w, 0, 0, 50000);
	w->stale = true;
	read_refused(w, 5, -ESTALE);
	assert_int_equal(w->last_error, -ESTALE);
	read_right(w, 0, 50000, 50000); /* it is here, and was right when it came */
	w->stale = false;
	read_right(w, 5, 0, 100000);
	cache_stop(w->cache);
}

static void a_file_truncated_underneath_fails_from_there_on(void **state)
{
	struct world *w = *state;

	lay_even(w, 60, 100000);
	start(w, MIB, 2);
	assert_int_equal(ftruncate(w->fd, 30 * 100000 + 5), 0);
	for (uint64_t e = 0; e < 30; e++)
		read_right(w, e, 0, 100000); /* also those in a run with the cut */
	for (uint64_t e = 30; e < 60; e++)
		read_refused(w, e, -ENODATA);
	cache_stop(w->cache);
	assert_true(stats_of(w).device_errors >= 30);
	for (uint64_t e = 0; e < 60; e++)
		assert_int_equal(w->failed[e] > 0, e >= 30);
}

/* --- taking back and stopping ----------------------------------------------------------------- */

#define FILLING 8 /* extents of 1 MiB that fill the pool */

/* FILLING requests are parked and the rest, in vain, waits for memory. */
static void ask_too_much(struct world *w, struct call *calls, unsigned count)
{
	lay_even(w, count, MIB);
	start_slow(w, 0, 2);
	for (unsigned i = 0; i < count; i++)
		ask_all_of(&calls[i], w, i);
	wait_at_gate(w, 2);
	assert_int_equal(stats_of(w).used, CACHE_BUDGET_MIN);
	assert_int_equal(stats_of(w).misses, FILLING);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(calls[i].done, 0);
}

static void a_parked_request_can_be_taken_back(void **state)
{
	struct world *w = *state;
	struct call *calls = w->calls;

	lay_even(w, 4, 100000);
	start_slow(w, 0, 2);
	for (unsigned i = 0; i < 3; i++)
		ask_all_of(&calls[i], w, 1);
	assert_true(cache_cancel(w->cache, &calls[1]));
	assert_false(cache_cancel(w->cache, &calls[1])); /* it is gone */
	set_gate(w, false);
	wait_answers(w, 2);
	cache_stop(w->cache);
	assert_right(&calls[0]);
	assert_int_equal(calls[1].done, 0);
	assert_right(&calls[2]);
	assert_int_equal(stats_of(w).served_bytes, 200000);
}

static void an_answered_request_cannot_be_taken_back(void **state)
{
	struct world *w = *state;
	struct call call, other;

	lay_even(w, 4, 100000);
	start(w, 0, 2);
	ask_all_of(&call, w, 1);
	wait_done(&call);
	assert_false(cache_cancel(w->cache, &call));
	assert_false(cache_cancel(w->cache, &other)); /* never heard of */
	cache_stop(w->cache);
	assert_right(&call);
}

static void a_request_of_several_extents_can_be_taken_back(void **state)
{
	struct world *w = *state;
	struct call call, other;

	lay_even(w, 4, MIB);
	start_slow(w, 0, 2);
	ask(&call, w, 0, 5, 2 * MIB);
	ask(&other, w, 1, 5, 2 * MIB);
	assert_true(cache_cancel(w->cache, &call));
	set_gate(w, false);
	wait_answers(w, 1);
	cache_stop(w->cache);
	assert_int_equal(call.done, 0);
	assert_right(&other);
}

static void starved_requests_can_be_taken_back(void **state)
{
	enum { ASKED = 20 };
	struct world *w = *state;
	struct call *calls = w->calls;

	ask_too_much(w, calls, ASKED);
	assert_true(cache_cancel(w->cache, &calls[FILLING]));	  /* the first of the starved */
	assert_true(cache_cancel(w->cache, &calls[FILLING + 3])); /* in the middle */
	assert_true(cache_cancel(w->cache, &calls[ASKED - 1]));	  /* the last */
	assert_true(cache_cancel(w->cache, &calls[0]));		  /* parked */
	set_gate(w, false);
	wait_answers(w, ASKED - 4);
	cache_stop(w->cache);
	for (unsigned i = 0; i < ASKED; i++) {
		if (i == FILLING || i == FILLING + 3 || i == ASKED - 1 || i == 0)
			assert_int_equal(calls[i].done, 0);
		else
			assert_right(&calls[i]);
	}
}

static void starved_requests_are_answered_when_there_is_room(void **state)
{
	enum { ASKED = 50 };
	struct world *w = *state;
	struct call *calls = w->calls;

	ask_too_much(w, calls, ASKED);
	set_gate(w, false);
	wait_answers(w, ASKED);
	for (unsigned i = 0; i < ASKED; i++)
		assert_right(&calls[i]);
	assert_int_equal(stats_of(w).wait_reads, ASKED);
	assert_true(stats_of(w).wait_p99_us >= stats_of(w).wait_p50_us);
	cache_stop(w->cache);
}

/* Places in the layout of fill_with_holders. */
#define LARGE(i) (10u * (i)) /* of 1 MiB, FILLING of them, far from each other */
#define SMALL	 LARGE(FILLING)
#define TWO	 (SMALL + 1) /* of 1 MiB and neighbours */
#define SCAN	 (SMALL + 10)

/* The first two large extents are held by threads that answer, the others are being read: the
 * pool is full. */
static void fill_with_holders(struct world *w, struct holder holders[2], struct call *calls,
			      uint64_t readahead)
{
	for (unsigned i = 0; i < SCAN + 20; i++)
		lay(w, 0, (i % 10 == 0 && i < SMALL) || i == TWO || i == TWO + 1 ? MIB : 10 * KIB);
	write_file(w);
	start(w, readahead, 2);
	for (unsigned i = 0; i < 2; i++) {
		read_right(w, LARGE(i), 0, 1);
		hold(&holders[i], w, LARGE(i));
	}
	w->slow = true;
	set_gate(w, true);
	for (unsigned i = 2; i < FILLING; i++)
		ask_all_of(&calls[i], w, LARGE(i));
	assert_int_equal(stats_of(w).used, CACHE_BUDGET_MIN);
	assert_int_equal(stats_of(w).misses, FILLING);
}

static void one_that_ends_its_answer_makes_room_for_the_starved(void **state)
{
	struct world *w = *state;
	struct holder *holders = w->holders;
	struct call *calls = w->calls;

	fill_with_holders(w, holders, calls, 0);
	ask_all_of(&calls[FILLING], w, SMALL);
	assert_int_equal(stats_of(w).misses, FILLING);
	let_go_of(&holders[0]);
	assert_int_equal(stats_of(w).misses, FILLING + 1); /* its fill is under way */
	let_go_of(&holders[1]);
	set_gate(w, false);
	cache_stop(w->cache);
	assert_right(&calls[FILLING]);
}

static void the_starved_are_served_in_the_order_they_came(void **state)
{
	struct world *w = *state;
	struct holder *holders = w->holders;
	struct call *calls = w->calls;

	fill_with_holders(w, holders, calls, 0);
	ask(&calls[FILLING], w, TWO, 0, 2 * MIB);
	ask_all_of(&calls[FILLING + 1], w, SMALL);
	let_go_of(&holders[0]); /* room for the second, but it is not its turn */
	assert_int_equal(stats_of(w).misses, FILLING);
	let_go_of(&holders[1]);
	assert_int_equal(stats_of(w).misses, FILLING + 2); /* the two of the first */
	set_gate(w, false);
	cache_stop(w->cache);
	assert_right(&calls[FILLING]);
	assert_right(&calls[FILLING + 1]);
}

static void a_small_request_does_not_overtake_the_starved(void **state)
{
	struct world *w = *state;
	struct holder *holders = w->holders;
	struct call *calls = w->calls;

	fill_with_holders(w, holders, calls, 0);
	ask(&calls[FILLING], w, TWO, 0, 2 * MIB);
	let_go_of(&holders[0]);
	ask_all_of(&calls[FILLING + 1], w, SMALL); /* there is room for it */
	assert_int_equal(stats_of(w).misses, FILLING);
	let_go_of(&holders[1]);
	set_gate(w, false);
	cache_stop(w->cache);
	assert_right(&calls[FILLING]);
	assert_right(&calls[FILLING + 1]);
}

/* Three make a scan, but when they get their turn, the request of two still has none. */
static void nothing_is_read_ahead_while_requests_starve(void **state)
{
	struct world *w = *state;
	struct holder *holders = w->holders;
	struct call *calls = w->calls;

	fill_with_holders(w, holders, calls, MIB);
	for (unsigned i = 0; i < 3; i++)
		ask_all_of(&calls[FILLING + i], w, SCAN + i);
	ask(&calls[FILLING + 3], w, TWO, 0, 2 * MIB);
	let_go_of(&holders[0]);
	assert_int_equal(stats_of(w).misses, FILLING + 3);
	assert_int_equal(stats_of(w).prefetch_issued, 0);
	let_go_of(&holders[1]);
	set_gate(w, false);
	cache_stop(w->cache);
	for (unsigned i = 2; i < FILLING + 4; i++)
		assert_right(&calls[i]);
}

static void stopping_answers_all_that_wait(void **state)
{
	enum { ASKED = 50 };
	struct world *w = *state;
	struct call *calls = w->calls;

	ask_too_much(w, calls, ASKED);
	set_gate(w, false);
	cache_stop(w->cache);
	for (unsigned i = 0; i < ASKED; i++)
		assert_right(&calls[i]);
}

static void stopping_answers_all_that_wait_for_a_source_that_changed(void **state)
{
	enum { ASKED = 50 };
	struct world *w = *state;
	struct call *calls = w->calls;

	ask_too_much(w, calls, ASKED);
	w->stale = true;
	set_gate(w, false);
	cache_stop(w->cache);
	for (unsigned i = 0; i < ASKED; i++)
		assert_refused(&calls[i], -ESTALE);
	assert_int_equal(stats_of(w).bad_extents, ASKED);
}

static void *stop_thread(void *arg)
{
	cache_stop(arg);
	return NULL;
}

/* One I/O thread is at the gate with extent 0, and behind it is what is read ahead. */
static void what_stopping_leaves_unread_is_not_told_as_bad(void **state)
{
	struct world *w = *state;
	struct call *calls = w->calls;
	pthread_t id;

	lay_even(w, 100, 64 * KIB);
	start_slow(w, MIB, 1);
	for (unsigned i = 0; i < 4; i++)
		ask_all_of(&calls[i], w, i);
	wait_at_gate(w, 1);
	assert_int_equal(stats_of(w).prefetch_used, 64 * KIB); /* extent 3 */
	assert_int_equal(pthread_create(&id, NULL, stop_thread, w->cache), 0);
	while (!atomic_load(&w->cache->stopping))
		sched_yield();
	set_gate(w, false);
	pthread_join(id, NULL);
	for (unsigned i = 0; i < 3; i++)
		assert_right(&calls[i]);
	assert_refused(&calls[3], -ECANCELED);
	assert_int_equal(w->failed[3], 0);
	assert_int_equal(stats_of(w).bad_extents, 0);
}

/* --- crowds -------------------------------------------------------------------------------------
 */

enum { READERS = 16, AT_ONCE = 8 };

/* A reader with several requests under way, as the kernel has. */
struct reader {
	struct world *world;
	unsigned seed, requests;
	bool cancels; /* takes some of them back */
	struct call calls[AT_ONCE];
	uint64_t asked, served; /* bytes */
	uint64_t touched;	/* extents */
	unsigned taken_back, failures;
};

/* Takes the request back or waits for it, and looks at what came. */
static void settle_call(struct reader *reader, struct call *call)
{
	struct world *w = reader->world;

	if (!call->world)
		return;
	if (reader->cancels && rand_r(&reader->seed) % 4 == 0 && cache_cancel(w->cache, call)) {
		reader->taken_back++;
		reader->failures += call->done != 0;
		return;
	}
	wait_done(call);
	reader->served += call->error ? 0 : call->size;
	reader->failures += call->done != 1 || (!call->right && call->error != -EBADMSG);
}

static void *reader_thread(void *arg)
{
	struct reader *reader = arg;
	struct world *w = reader->world;

	is_reader = true;
	for (unsigned i = 0; i < reader->requests; i++) {
		struct call *call = &reader->calls[i % AT_ONCE];
		uint64_t extent;
		uint32_t from, size;

		settle_call(reader, call);
		reader->touched += any_request(w, &reader->seed, &extent, &from, &size);
		reader->asked += size;
		ask(call, w, extent, from, size);
	}
	for (unsigned i = 0; i < AT_ONCE; i++)
		settle_call(reader, &reader->calls[i]);
	return NULL;
}

/* Lets them loose; returns their sums. */
static struct reader crowd(struct world *w, unsigned requests, bool cancels)
{
	static struct reader readers[READERS];
	struct reader sum = {0};
	pthread_t ids[READERS];

	for (unsigned i = 0; i < READERS; i++) {
		readers[i] = (struct reader){.world = w,
					     .seed = i + 1,
					     .requests = requests / SLOWER,
					     .cancels = cancels};
		assert_int_equal(pthread_create(&ids[i], NULL, reader_thread, &readers[i]), 0);
	}
	for (unsigned i = 0; i < READERS; i++) {
		pthread_join(ids[i], NULL);
		sum.asked += readers[i].asked;
		sum.served += readers[i].served;
		sum.touched += readers[i].touched;
		sum.taken_back += readers[i].taken_back;
		sum.failures += readers[i].failures;
	}
	assert_true(stats_of(w).used <= CACHE_BUDGET_MIN);
	cache_stop(w->cache);
	assert_int_equal(sum.failures, 0);
	assert_false(w->wrong);
	return sum;
}

static void assert_sums(struct world *w, const struct reader *sum)
{
	struct cache_stats stats = stats_of(w);

	print_message("%llu extents of %u requests, %llu hits, %llu waited, %u taken back\n",
		      (unsigned long long)sum->touched, w->answers, (unsigned long long)stats.hits,
		      (unsigned long long)stats.wait_reads, sum->taken_back);
	assert_int_equal(stats.served_bytes, sum->served);
	if (sum->taken_back)
		assert_true(stats.hits + stats.misses <= sum->touched);
	else
		assert_int_equal(stats.hits + stats.misses, sum->touched);
	assert_true(stats.prefetch_used + stats.prefetch_wasted <= stats.prefetch_issued);
	assert_true(stats.distinct_bytes <= stats.served_bytes);
	assert_true(stats.used <= stats.budget);
}

/* The device is slow, but open: all fills are for the I/O threads, and all readers together want
 * many times what there is. */
static void a_starving_crowd_gets_its_bytes(void **state)
{
	struct world *w = *state;
	struct reader sum;

	lay_large_files(w, 48 * MIB);
	w->slow = true;
	start(w, 0, 4);
	sum = crowd(w, 160, false);
	assert_sums(w, &sum);
	assert_int_equal(sum.served, sum.asked);
	assert_true(stats_of(w).evictions > 0 || stats_of(w).device_bytes > w->bytes);
}

static void a_crowd_with_the_file_in_memory_gets_its_bytes(void **state)
{
	struct world *w = *state;
	struct reader sum;

	lay_mixed(w, 24 * MIB);
	start(w, MIB, 4);
	sum = crowd(w, 1000, false);
	assert_sums(w, &sum);
	assert_int_equal(sum.served, sum.asked);
}

static void a_crowd_that_changes_its_mind_gets_the_rest(void **state)
{
	struct world *w = *state;
	struct reader sum;

	lay_large_files(w, 24 * MIB);
	w->slow = true;
	start(w, MIB, 4);
	sum = crowd(w, 160, true);
	assert_sums(w, &sum);
	assert_true(sum.taken_back > 0);
	assert_int_equal(w->answers, READERS * (160 / SLOWER) - sum.taken_back);
}

static void a_crowd_on_a_damaged_file_gets_what_is_right(void **state)
{
	struct world *w = *state;
	struct reader sum;

	lay_mixed(w, 24 * MIB);
	for (uint64_t e = 0; e < w->extents; e += 5)
		w->bad[e] = true;
	w->slow = true;
	start(w, MIB, 4);
	sum = crowd(w, 600, true);
	assert_sums(w, &sum);
	for (uint64_t e = 0; e < w->extents; e++)
		assert_true(e % 5 == 0 || w->failed[e] == 0);
	assert_true(stats_of(w).bad_extents > 0);
}

/* A scan each, side by side, with reading ahead. */
static void *scan_thread(void *arg)
{
	struct reader *reader = arg;
	struct world *w = reader->world;
	uint64_t each = w->extents / READERS;

	is_reader = true;
	for (uint64_t e = reader->seed * each; e < (reader->seed + 1) * each; e++) {
		struct call call;

		ask_all_of(&call, w, e);
		wait_done(&call);
		reader->failures += !call.right || call.done != 1;
	}
	return NULL;
}

static void scanners_side_by_side_get_their_bytes(void **state)
{
	static struct reader readers[READERS];
	struct world *w = *state;
	struct cache_stats stats;
	pthread_t ids[READERS];

	lay_even(w, 1600, 30000);
	w->slow = true;
	start(w, MIB, 4);
	for (unsigned i = 0; i < READERS; i++) {
		readers[i] = (struct reader){.world = w, .seed = i};
		assert_int_equal(pthread_create(&ids[i], NULL, scan_thread, &readers[i]), 0);
	}
	for (unsigned i = 0; i < READERS; i++) {
		pthread_join(ids[i], NULL);
		assert_int_equal(readers[i].failures, 0);
	}
	cache_stop(w->cache);
	stats = stats_of(w);
	print_message("%.2f ahead, %.3f of it used, %.3f lost\n",
		      (double)stats.prefetch_issued / (double)w->bytes,
		      (double)stats.prefetch_used / (double)stats.prefetch_issued,
		      (double)stats.prefetch_wasted / (double)stats.prefetch_issued);
	assert_int_equal(stats.served_bytes, w->bytes);
	assert_int_equal(stats.distinct_bytes, w->bytes);
	assert_true(stats.prefetch_used > w->bytes / 2);
	assert_true(stats.prefetch_wasted < w->bytes / 10);
	assert_false(w->wrong);
}

#define world_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(a_budget_that_is_too_small_is_refused),
		world_test(a_cache_that_never_started_can_be_freed),
		world_test(a_cache_without_check_needs_none),
		world_test(every_extent_has_its_own_bytes),
		world_test(a_cold_file_has_the_same_bytes),
		world_test(requests_span_two_and_three_extents),
		world_test(a_request_for_nothing_is_answered),
		world_test(several_waiters_share_one_read),
		world_test(what_is_there_is_not_read_again),
		world_test(what_was_served_in_full_makes_room_first),
		world_test(an_extent_is_distinct_when_all_of_it_was_served),
		world_test(a_scan_uses_all_that_was_read_ahead),
		world_test(small_gaps_are_read_over),
		world_test(runs_of_many_tiny_extents_are_read_right),
		world_test(scans_that_outgrow_the_pool_get_on),
		world_test(a_bad_extent_fails_for_its_readers_only),
		world_test(a_request_with_a_bad_part_fails_and_serves_nothing),
		world_test(a_bad_extent_of_a_run_fails_for_its_readers_only),
		world_test(a_bad_extent_that_nobody_asked_for_is_not_told),
		world_test(a_source_that_changed_is_not_read),
		world_test(a_file_truncated_underneath_fails_from_there_on),
		world_test(a_parked_request_can_be_taken_back),
		world_test(an_answered_request_cannot_be_taken_back),
		world_test(a_request_of_several_extents_can_be_taken_back),
		world_test(starved_requests_can_be_taken_back),
		world_test(starved_requests_are_answered_when_there_is_room),
		world_test(one_that_ends_its_answer_makes_room_for_the_starved),
		world_test(the_starved_are_served_in_the_order_they_came),
		world_test(a_small_request_does_not_overtake_the_starved),
		world_test(nothing_is_read_ahead_while_requests_starve),
		world_test(stopping_answers_all_that_wait),
		world_test(stopping_answers_all_that_wait_for_a_source_that_changed),
		world_test(what_stopping_leaves_unread_is_not_told_as_bad),
		world_test(a_starving_crowd_gets_its_bytes),
		world_test(a_crowd_with_the_file_in_memory_gets_its_bytes),
		world_test(a_crowd_that_changes_its_mind_gets_the_rest),
		world_test(a_crowd_on_a_damaged_file_gets_what_is_right),
		world_test(scanners_side_by_side_get_their_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
