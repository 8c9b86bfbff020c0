/* What the tests of the cache share: a real file, extents anywhere in it, a source that knows its
 * bytes and can be slow, damaged or changed, and requests whose answers are compared.
 *
 * The check, which runs at every fill, compares with the file as it was written, and so does
 * every answer. Where a test needs a slow device, the source sends fills to the I/O threads and
 * stops these at a gate: who waits for what is the test's decision and never the clock's. */
#pragma once

#include "base/io.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "cache/cache_internal.h"
#include "tests/unit/far.h"
#include "tests/unit/patience.h"
#include "tests/unit/test.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
#define CALLS 128  /* of a test */
#define MOST  8192 /* extents */
#define SURE  12   /* demands in a row that are a scan beyond doubt */

struct world;

struct call {
	struct world *world;
	uint64_t extent;
	uint32_t from, size;
	unsigned touched; /* extents */
	unsigned told;	  /* how often dropped() was told of the first before this answer */
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
	struct reader *reader; /* of fd, */
	struct far *far;       /* or of this one, which reads from it: NULL, where it is near */
	char *image;	       /* what the file holds */
	uint64_t bytes, extents;
	uint64_t offsets[MOST];
	uint32_t sizes[MOST];
	struct cache *cache;
	uint64_t share; /* of the kernel */

	atomic_bool bad[MOST];	 /* the check is to refuse it */
	atomic_bool asked[MOST]; /* by a call */
	atomic_uint failed[MOST], told[MOST];
	atomic_int last_error; /* told to failed() */
	atomic_bool wrong;     /* bytes that are not the file's came by */
	atomic_bool stale;
	atomic_bool slow; /* fills are for the I/O threads */
	bool cold;	  /* the kernel says whether they are */
	bool patient;	  /* who asks may wait for the device */
	atomic_bool look; /* at the stats all the time */
	_Atomic uint64_t most_used, most_held;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Protected by lock: */
	bool closed;	   /* the gate that I/O threads pass before each fill */
	bool ahead_closed; /* the one in the check of what nobody asked for */
	uint64_t gated;	   /* the extent whose check stops at the first gate */
	unsigned at_gate;  /* threads that one holds */
	unsigned answers;  /* of calls */
	atomic_uint checks, resolved;
	uint32_t order[4 * MOST]; /* extents as they were checked */

	/* Of the test; here, so that they outlive one that fails. */
	struct call calls[CALLS], one;
	struct holder holders[2];
};

/* Set in threads of the test: fills of a slow device are not for them. */
static _Thread_local bool is_reader;
static _Thread_local uint32_t reads_as; /* a process; 0: not known */

/* How the world's reader reads, and its own way to do so without waiting. */
static struct {
	struct reader_ops ops;
	struct world *world;
	int (*read_now)(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			uint64_t needed);
} ways;

/* --- waiting, but not for ever -----------------------------------------------------------------
 */

/* Waits until `condition`, under the world's lock. Evaluates to whether it came true. */
#define wait_until(w, condition)                                                        \
	({                                                                              \
		struct timespec until_ = patience();                                    \
		bool met_;                                                              \
		pthread_mutex_lock(&(w)->lock);                                         \
		while (!(met_ = (condition)) &&                                         \
		       pthread_cond_timedwait(&(w)->changed, &(w)->lock, &until_) == 0) \
			;                                                               \
		pthread_mutex_unlock(&(w)->lock);                                       \
		met_;                                                                   \
	})

/* --- a file and its extents ------------------------------------------------------------------ */

/* From a device that is not slow, what the test has written is there, though the kernel may have
 * dropped it. */
static inline int read_now(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			   uint64_t needed)
{
	SCOPE_FREE struct iovec *again = NULL;
	int r;

	if (!is_reader)
		return ways.read_now(reader, iov, count, offset, needed);
	if (ways.world->slow)
		return -EAGAIN;
	again = malloc((size_t)count * sizeof(*again));
	if (!again)
		abort();
	memcpy(again, iov, (size_t)count * sizeof(*again));
	r = ways.read_now(reader, iov, count, offset, needed);
	if (r < 0 && !ways.world->cold && reader_read(reader, again, count, offset, needed) == 0)
		return 0;
	return r;
}

static inline void setup(struct world *w)
{
	strcpy(w->path, "/var/tmp/test_cache.XXXXXX"); /* where direct reads can be had */
	w->fd = mkstemp(w->path);
	assert_true(w->fd >= 0);
	unlink(w->path); /* so that nothing stays, however the test ends */
	assert_int_equal(reader_file_borrow(w->fd, &w->reader), 0);
	ways.world = w;
	ways.ops = *w->reader->ops;
	ways.read_now = ways.ops.read_now;
	ways.ops.read_now = read_now;
	w->reader->ops = &ways.ops;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	w->gated = UINT64_MAX;
	w->share = RESIDENCY_ALL;
	is_reader = true;
	srandom(6);
}

/* The same file, but far. */
static inline void setup_far(struct world *w)
{
	setup(w);
	w->far = far_new(w->reader);
	w->far->hurried = true;
	w->reader = &w->far->reader;
}

static inline void set_gate(struct world *w, bool closed)
{
	SCOPE_LOCK(&w->lock);
	w->closed = closed;
	w->ahead_closed = false;
	pthread_cond_broadcast(&w->changed);
}

static inline void close_gate_ahead(struct world *w)
{
	SCOPE_LOCK(&w->lock);
	w->ahead_closed = true;
}

/* Returns when the thread is done with it, and with what it does for others then. */
static inline void let_go_of(struct holder *holder)
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

/* Whatever the test was about, no wrong byte came by. */
static inline void teardown(struct world *w)
{
	struct reader *near = w->far ? w->far->near : NULL;

	if (w->cache) { /* some of this only matters where a test failed */
		set_gate(w, false);
		if (w->far)
			far_hold(w->far, false);
		for (int i = 0; i < 2; i++)
			let_go_of(&w->holders[i]);
		cache_stop(w->cache);
	}
	cache_free(w->cache);
	reader_free(w->reader);
	reader_free(near);
	close(w->fd);
	free(w->image);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	assert_false(w->wrong);
}

static inline void lay(struct world *w, uint64_t gap, uint64_t size)
{
	assert_true(w->extents < MOST);
	w->offsets[w->extents] = w->bytes + gap;
	w->sizes[w->extents++] = (uint32_t)size;
	w->bytes += gap + size;
}

static inline void write_file(struct world *w)
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

/* From here on the page cache has nothing of the file. */
static inline void forget_file(struct world *w)
{
	assert_int_equal(fdatasync(w->fd), 0);
	posix_fadvise(w->fd, 0, 0, POSIX_FADV_DONTNEED);
	w->cold = true;
}

static inline uint64_t random_below(uint64_t limit)
{
	return ((uint64_t)random() << 20 ^ (uint64_t)random()) % limit;
}

/* Any size from 1 byte to 1 MiB, small ones as often as large ones, some with gaps. */
static inline void lay_mixed(struct world *w, uint64_t bytes)
{
	while (w->bytes < bytes) {
		uint64_t most = (uint64_t)1 << (random() % 21);

		lay(w, random() % 3 ? 0 : random_below(100000), 1 + random_below(most));
	}
	write_file(w);
}

static inline void lay_even(struct world *w, uint64_t extents, uint64_t size)
{
	for (uint64_t i = 0; i < extents; i++)
		lay(w, 0, size);
	write_file(w);
}

/* As LMDB keeps small files in leaf pages, each of which it fills from its end. The last of a file.
 */
static inline void lay_leaf_pages(struct world *w, uint64_t pages)
{
	enum { PAGE = 16384, EACH = 26, SIZE = 600, GAP = 10 };
	uint64_t first = w->extents, page = w->bytes / PAGE + 1;

	w->bytes = page * PAGE;
	for (uint64_t i = 0; i < pages * EACH; i++)
		lay(w, i % EACH ? GAP : PAGE - EACH * SIZE - (EACH - 1) * GAP, SIZE);
	for (uint64_t i = 0; i < pages * EACH; i++)
		w->offsets[first + i] =
			(page + i / EACH + 1) * PAGE - (i % EACH + 1) * SIZE - i % EACH * GAP;
	write_file(w);
}

/* Files of up to five extents, all but the last of each of full length. */
static inline void lay_large_files(struct world *w, uint64_t bytes)
{
	while (w->bytes < bytes) {
		for (long full = random() % 5; full; full--)
			lay(w, 0, MIB);
		lay(w, 0, 1 + random_below(MIB - 1));
	}
	write_file(w);
}

/* Photographs, but smaller, so that there are many. */
static inline void lay_photos(struct world *w, uint64_t extents)
{
	for (uint64_t i = 0; i < extents; i++)
		lay(w, random() % 4 ? 0 : random_below(300), 8 * KIB + random_below(24 * KIB));
	write_file(w);
}

/* Memory that the extents take. */
static inline uint64_t slot_bytes(const struct world *w, uint64_t first, uint64_t end)
{
	uint64_t slots = 0;

	for (uint64_t e = first; e < end; e++)
		slots += (w->offsets[e] % CACHE_PAGE + w->sizes[e] + SLOT_BYTES - 1) / SLOT_BYTES;
	return slots * SLOT_BYTES;
}

static inline uint64_t payload(const struct world *w)
{
	uint64_t bytes = 0;

	for (uint64_t e = 0; e < w->extents; e++)
		bytes += w->sizes[e];
	return bytes;
}

/* What whole pages of the file hold it. */
static inline uint64_t page_bytes(const struct world *w, uint64_t e)
{
	uint64_t end = (w->offsets[e] + w->sizes[e] + CACHE_PAGE - 1) / CACHE_PAGE * CACHE_PAGE;

	return (end < w->bytes ? end : w->bytes) - w->offsets[e] / CACHE_PAGE * CACHE_PAGE;
}

static inline void shuffle(uint64_t *order, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		order[i] = i;
	for (uint64_t i = count; i > 1; i--) {
		uint64_t j = random_below(i), other = order[j];

		order[j] = order[i - 1];
		order[i - 1] = other;
	}
}

/* --- the source ------------------------------------------------------------------------------ */

static inline struct extent extent_at(void *context, uint64_t number)
{
	struct world *w = context;

	if (number >= w->extents)
		abort();
	w->resolved++;
	return (struct extent){.number = number,
			       .offset = w->offsets[number],
			       .file = number,
			       .file_end = number + 1,
			       .size = w->sizes[number]};
}

static inline bool same(const struct world *w, uint64_t offset, uint64_t size,
			const struct iovec *iov, int count)
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

static inline void raise_to(_Atomic uint64_t *most, uint64_t value)
{
	uint64_t now = atomic_load(most);

	while (now < value && !atomic_compare_exchange_weak(most, &now, value))
		;
}

static inline struct cache_stats stats_of(struct world *w)
{
	struct cache_stats stats;

	cache_stats(w->cache, &stats);
	return stats;
}

static inline void look(struct world *w)
{
	struct cache_stats stats;

	if (!w->look)
		return;
	stats = stats_of(w);
	raise_to(&w->most_used, stats.used);
	raise_to(&w->most_held, stats.held);
}

static inline void pass_gate(struct world *w, const bool *closed)
{
	SCOPE_LOCK(&w->lock);
	if (!*closed)
		return;
	w->at_gate++;
	pthread_cond_broadcast(&w->changed);
	while (*closed)
		pthread_cond_wait(&w->changed, &w->lock);
	w->at_gate--;
}

static inline void wait_at_gate(struct world *w, unsigned count)
{
	assert_true(wait_until(w, w->at_gate == count));
}

static inline void note_check(struct world *w, uint64_t extent)
{
	SCOPE_LOCK(&w->lock);
	if (w->checks < sizeof(w->order) / sizeof(w->order[0]))
		w->order[w->checks] = (uint32_t)extent;
	w->checks++;
	pthread_cond_broadcast(&w->changed);
}

static inline int check(void *context, uint64_t extent, const struct iovec *iov, int count)
{
	struct world *w = context;

	if (is_far_thread)
		abort(); /* other reads wait for it */
	note_check(w, extent);
	look(w);
	if (extent == w->gated)
		pass_gate(w, &w->closed);
	if (!w->asked[extent])
		pass_gate(w, &w->ahead_closed);
	if (!same(w, w->offsets[extent], w->sizes[extent], iov, count))
		w->wrong = true;
	return w->bad[extent] ? -EBADMSG : 0;
}

static inline int unchanged(void *context, uint64_t extent)
{
	struct world *w = context;

	(void)extent;
	if (is_reader && (w->far || (w->slow && !w->patient)))
		abort(); /* it may wait, and so would other requests */
	if (!is_reader && !is_far_thread)
		pass_gate(w, &w->closed);
	return w->stale ? -ESTALE : 0;
}

static inline void dropped(void *context, uint64_t extent)
{
	struct world *w = context;

	w->told[extent]++;
}

static inline void failed(void *context, uint64_t extent, int error)
{
	struct world *w = context;

	w->failed[extent]++;
	w->last_error = error;
}

static inline uint64_t one_kind(void *context, uint64_t extent)
{
	(void)context;
	(void)extent;
	return 0;
}

/* Of a test that has some. */
static int (*world_lists)(void *context, uint64_t extent, cache_list_fn *found, void *arg);

static inline int lists_of(void *context, uint64_t extent, cache_list_fn *found, void *arg)
{
	return world_lists ? world_lists(context, extent, found, arg) : 0;
}

static inline struct cache_params params_of(struct world *w, uint64_t readahead, unsigned threads)
{
	static const struct cache_source_ops ops = {.extent = extent_at,
						    .check = check,
						    .unchanged = unchanged,
						    .drop = dropped,
						    .failed = failed,
						    .kind = one_kind,
						    .lists = lists_of};

	return (struct cache_params){
		.source = {.ops = &ops, .context = w, .reader = w->reader, .extents = w->extents},
		.budget = CACHE_BUDGET_MIN,
		.readahead = readahead,
		.threads = threads,
		.residency = w->share,
		.policy = POLICY_PIN};
}

static inline void start_with(struct world *w, const struct cache_params *params)
{
	assert_int_equal(cache_new(params, &w->cache), 0);
	assert_int_equal(cache_start(w->cache), 0);
}

static inline void start(struct world *w, uint64_t readahead, unsigned threads)
{
	const struct cache_params params = params_of(w, readahead, threads);

	start_with(w, &params);
}

/* From here on fills are for the I/O threads, which wait at the gate. */
static inline void start_slow(struct world *w, uint64_t readahead, unsigned threads)
{
	w->slow = true;
	w->closed = true;
	start(w, readahead, threads);
}

/* How the bytes come from the file. */
enum way { DIRECT, BUFFERED, IN_MEMORY, WAYS };

static const char *const way_names[WAYS] = {"directly", "buffered", "from the page cache"};

/* What there is to read is cold, and read by I/O threads only; or it is in the page cache, and
 * readers read it themselves. */
static inline struct cache_params params_for(struct world *w, enum way way, uint64_t readahead,
					     unsigned threads)
{
	struct cache_params params = params_of(w, readahead, threads);

	params.io = way == DIRECT ? READER_DIRECT : READER_BUFFERED;
	w->slow = way != IN_MEMORY;
	return params;
}

/* False, with a word about it, where the filesystem cannot. */
static inline bool can(struct world *w, enum way way)
{
	const struct cache_params params = params_for(w, way, 0, 1);
	struct cache *cache;
	int r = cache_new(&params, &cache);

	if (r == -EOPNOTSUPP) {
		print_message("%s cannot be read %s\n", w->path, way_names[way]);
		return false;
	}
	assert_int_equal(r, 0);
	cache_free(cache);
	return true;
}

/* --- requests --------------------------------------------------------------------------------- */

static inline void on_done(void *arg, int error, const struct iovec *iov, int count)
{
	struct call *call = arg;
	struct world *w = call->world;

	call->told = w->told[call->extent];
	call->error = error;
	call->right =
		!error && same(w, w->offsets[call->extent] + call->from, call->size, iov, count);
	if (!error && !call->right)
		w->wrong = true;
	look(w);
	SCOPE_LOCK(&w->lock);
	call->done++;
	w->answers++;
	pthread_cond_broadcast(&w->changed);
	while (call->held)
		pthread_cond_wait(&w->changed, &w->lock);
}

static inline void ask(struct call *call, struct world *w, uint64_t extent, uint32_t from,
		       uint32_t size)
{
	struct cache_request request = {.extent = extent,
					.from = from,
					.size = size,
					.reader = reads_as,
					.may_wait = w->patient,
					.done = on_done,
					.arg = call};

	*call = (struct call){.world = w, .extent = extent, .from = from, .size = size};
	call->touched = (unsigned)((from + (uint64_t)size + MIB - 1) / MIB);
	for (uint64_t i = 0; i < call->touched; i++)
		w->asked[extent + i] = true;
	cache_read(w->cache, &request);
}

static inline void ask_all_of(struct call *call, struct world *w, uint64_t extent)
{
	ask(call, w, extent, 0, w->sizes[extent]);
}

static inline void wait_answers(struct world *w, unsigned count)
{
	assert_true(wait_until(w, w->answers >= count));
}

static inline bool wait_done(struct call *call)
{
	return wait_until(call->world, call->done > 0);
}

static inline void *hold_thread(void *arg)
{
	struct call *call = arg;
	struct cache_request request = {.extent = call->extent,
					.from = call->from,
					.size = call->size,
					.done = on_done,
					.arg = call};

	is_reader = true;
	cache_read(call->world->cache, &request);
	return NULL;
}

static inline void hold(struct holder *holder, struct world *w, uint64_t extent)
{
	unsigned answers = w->answers;

	holder->call = (struct call){.world = w, .extent = extent, .size = 1, .held = true};
	assert_int_equal(pthread_create(&holder->id, NULL, hold_thread, &holder->call), 0);
	wait_answers(w, answers + 1);
}

static inline void assert_right(const struct call *call)
{
	assert_int_equal(call->done, 1);
	assert_int_equal(call->error, 0);
	assert_true(call->right);
}

static inline void assert_refused(const struct call *call, int error)
{
	assert_int_equal(call->done, 1);
	assert_int_equal(call->error, error);
}

/* Asks and waits. */
static inline void read_right(struct world *w, uint64_t extent, uint32_t from, uint32_t size)
{
	ask(&w->one, w, extent, from, size);
	assert_true(wait_done(&w->one));
	assert_right(&w->one);
}

static inline void read_all_of(struct world *w, uint64_t extent)
{
	read_right(w, extent, 0, w->sizes[extent]);
}

static inline uint64_t issued(struct world *w)
{
	return stats_of(w).prefetch_issued;
}

static inline bool is_done(struct call *call)
{
	SCOPE_LOCK(&call->world->lock);
	return call->done > 0;
}

/* Asks in order until something is read ahead, of which a gate stops the thread. The last that was
 * asked for may be among it by then: nobody waits for that. */
static inline void scan_until_ahead(struct world *w)
{
	for (unsigned e = 0; e < SURE && issued(w) == 0; e++) {
		struct call *call = &w->calls[CALLS - SURE + e];

		ask_all_of(call, w, e);
		assert_true(poll_until(is_done(call) || issued(w) > 0));
	}
	assert_true(poll_until(issued(w) > 0));
}

static inline void read_refused(struct world *w, uint64_t extent, int error)
{
	ask_all_of(&w->one, w, extent);
	assert_true(wait_done(&w->one));
	assert_refused(&w->one, error);
}

/* Whether nobody reads of it any more; an answer comes a little before that. */
static inline bool is_let_go(struct world *w, uint64_t extent)
{
	const struct pool_extent *x;

	SCOPE_LOCK(&w->cache->lock);
	x = pool_find(w->cache->pool, extent);
	return !x || x->pins == 0;
}

/* In memory, or on its way. */
static inline bool is_there(struct world *w, uint64_t extent)
{
	SCOPE_LOCK(&w->cache->lock);
	return pool_find(w->cache->pool, extent) != NULL;
}

/* The first extent that is there, though nobody asked for it. */
static inline uint64_t first_ahead(struct world *w)
{
	uint64_t e = 0;

	while (w->asked[e] || !is_there(w, e))
		assert_true(++e < w->extents);
	return e;
}

/* A request of up to three extents of one file. Returns how many it touches. */
static inline unsigned any_request(struct world *w, unsigned *seed, uint64_t *ret_extent,
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

FIXTURE(w, struct world, setup, teardown);
FIXTURE(far, struct world, setup_far, teardown);
