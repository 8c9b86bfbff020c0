/* The threads behind the oracle, in a cache with simulated loaders: cache/oracle_thread.h. Readers
 * stop where something is to be thought about, so that how long that takes is of no matter. */
#define PATIENCE 300 /* s: what thinks is idle where anything else runs */

#include "cache/oracle_thread.h"
#include "cache/order/permutation.h"
#include "tests/unit/cache_fixture.h"
#include "tests/unit/loader.h"
#include "tests/unit/test.h"
#include <sys/syscall.h>

#define FILES	4000u
#define BYTES	6000u /* of a file: one slot */
#define WORKERS 1u
#define BATCH	32u
#define LATE	8u	    /* files that were foreseen, and do not come by themselves */
#define SEED	42u	    /* of torch.manual_seed(): a convention, found soon */
#define LARGE	3000000019u /* found when all are tried */

static uint32_t order[FILES];
static atomic_uint locked; /* how often an order was recognised */

static atomic_long set_back; /* seconds, by which the time of day will have been set back */
static atomic_ulong looks;   /* at any clock */
static atomic_bool held;     /* whoever asks for lists has to wait */
static atomic_bool somebody; /* does */

/* Takes the place of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int r = (int)syscall(SYS_clock_gettime, clock, ret);

	looks++;
	ret->tv_sec += clock == CLOCK_REALTIME ? set_back : 0;
	return r;
}

static void wait_while_held(struct world *w)
{
	SCOPE_LOCK(&w->lock);
	somebody = held;
	pthread_cond_broadcast(&w->changed);
	while (held)
		pthread_cond_wait(&w->changed, &w->lock);
}

/* The files as they lie: some loader's list, and not the first that is told of. */
static int lists(void *context, uint64_t file, cache_list_fn *found, void *arg)
{
	struct world *w = context;
	uint32_t files[FILES];
	int r;

	assert_true(file < w->extents);
	wait_while_held(w);
	for (uint32_t i = 0; i < FILES; i++)
		files[i] = FILES - 1 - i;
	r = found(arg, "files, backwards", files, FILES, 0);
	for (uint32_t i = 0; i < FILES; i++)
		files[i] = i;
	return r < 0 ? r : found(arg, "files", files, FILES, 0);
}

static void tell(const char *sentence)
{
	struct world *w = ways.world;

	SCOPE_LOCK(&w->lock);
	assert_non_null(strstr(sentence, "files"));
	locked++;
	pthread_cond_broadcast(&w->changed);
}

/* Files of a device that readers have to wait for, and a pool that holds an eighth of them. */
static void prepare(struct world *w, unsigned cpus, struct cache_params *ret)
{
	lay_even(w, FILES, BYTES);
	*ret = params_for(w, BUFFERED, MIB, 4);
	ret->residency = 0;
	ret->oracle_cpus = cpus;
	world_lists = lists;
	ret->source.notice = tell;
	locked = 0;
}

static void begin(struct world *w, unsigned cpus)
{
	struct cache_params params;

	prepare(w, cpus, &params);
	start_with(w, &params);
}

static void read_as(struct world *w, uint32_t reader, uint64_t extent)
{
	reads_as = reader;
	read_all_of(w, extent);
}

/* Returns how many were read. */
static uint32_t read_some(struct world *w, struct loader *loader, uint32_t count)
{
	uint32_t reader, file, read = 0;

	while (read < count && loader_next(loader, &reader, &file)) {
		read_as(w, reader, file);
		read++;
	}
	return read;
}

static uint32_t output(uint32_t root, uint64_t word)
{
	struct mt19937 mt;

	mt19937_init(&mt, root);
	mt19937_skip(&mt, word);
	return mt19937_next(&mt);
}

/* What DataLoader's sampler draws after torch.manual_seed(seed). */
static uint32_t drawn(uint32_t seed)
{
	return output(seed, 3);
}

static void load(struct loader *loader, uint32_t seed)
{
	permutation_of(seed, order, FILES);
	loader_init(loader, order, FILES, WORKERS, BATCH);
}

/* Waits until a file is in memory or on its way, but for the few that may have to be asked for;
 * who polls leaves the processor to the thread. */
static void wait_there(struct world *w, uint64_t extent, unsigned *late)
{
	const struct timespec while_ns = {.tv_nsec = 200000};
	time_t until = time(NULL) + 1 + SLOWER;

	while (!is_there(w, extent) && time(NULL) < until)
		nanosleep(&while_ns, NULL);
	*late += !is_there(w, extent);
	assert_true(*late < LATE);
}

/* --- an epoch -------------------------------------------------------------------------------- */

TEST_OF(w, an_order_is_found_and_what_comes_is_there)
{
	struct cache_stats before, after;
	uint32_t reader, file, read;
	struct loader loader;
	unsigned late = 0;

	begin(w, 2);
	load(&loader, drawn(SEED));
	read = read_some(w, &loader, 64);
	assert_true(wait_until(w, locked == 1));
	before = stats_of(w);
	assert_string_equal(before.oracle.state, "locked");
	assert_string_equal(before.oracle.why, "");
	assert_string_equal(before.oracle.list, "files");
	assert_int_equal(before.oracle.seed, drawn(SEED));
	assert_int_equal(before.oracle.files, FILES);
	/* The first one tells of the room that there is. */
	read += read_some(w, &loader, 1);
	before = stats_of(w);
	while (loader_next(&loader, &reader, &file)) {
		wait_there(w, file, &late);
		read_as(w, reader, file);
		read++;
	}
	after = stats_of(w);
	assert_int_equal(read, FILES);
	/* Of what was on its way some was asked for. */
	assert_true(after.misses - before.misses < FILES / 50);
	assert_true(after.prefetch_used > (uint64_t)(FILES - 100) * BYTES);
	assert_true(after.prefetch_wasted < (uint64_t)FILES * BYTES / 50);
	assert_int_equal(after.oracle.unlocks, 0);
}

/* mobilenet_v3_small under 42. All files are there before anybody asks, so that no other search
 * would pay. */
TEST_OF(w, readers_that_never_wait_follow_a_usual_seed)
{
	const struct timespec while_ns = {.tv_nsec = 50000000};
	struct cache_params params;
	struct loader loader;
	uint32_t seed = output(SEED, 5056624 + 3);

	prepare(w, 2, &params);
	params.budget = 2 * (uint64_t)FILES * SLOT_BYTES;
	params.preload = true;
	start_with(w, &params);
	for (uint32_t file = 0; file < FILES; file++)
		assert_true(poll_until(is_there(w, file) && is_let_go(w, file)));
	load(&loader, seed);
	for (uint32_t i = 0; i < FILES; i++)
		order[i] = FILES - 1 - order[i]; /* of the likeliest list */
	read_some(w, &loader, 64);
	/* They go on: a search ends half a minute after readers have paused. */
	while (!locked && read_some(w, &loader, 1))
		nanosleep(&while_ns, NULL);
	assert_int_equal(locked, 1);
	assert_int_equal(stats_of(w).oracle.seed, seed);
	assert_int_equal(stats_of(w).misses, 0);
}

/* Files that are far, and fit into memory: each that is there saves a round trip. */
TEST_WITH(far, w, readers_of_no_usual_order_find_all_there_soon)
{
	const struct timespec while_ns = {.tv_nsec = 500000000};
	struct cache_params params;
	struct loader loader;
	uint32_t read;

	prepare(w, 1, &params);
	params.budget = 2 * (uint64_t)FILES * SLOT_BYTES;
	params.holds_all = true;
	start_with(w, &params);
	load(&loader, LARGE);
	read = read_some(w, &loader, 64);
	while (stats_of(w).prefetch_issued <= FILES / 2 * BYTES && read < FILES / 2) {
		nanosleep(&while_ns, NULL);
		read += read_some(w, &loader, 1);
	}
	assert_true(stats_of(w).misses <= read);
	assert_true(read < FILES / 2);
	assert_int_equal(locked, 0);
}

/* Its order may still be found, and would have no memory to be read ahead in. */
TEST_WITH(far, w, where_not_all_fits_more_is_waited_for)
{
	const struct timespec while_ns = {.tv_nsec = 500000000};
	struct cache_params params;
	struct loader loader;

	prepare(w, 1, &params);
	start_with(w, &params);
	load(&loader, LARGE);
	read_some(w, &loader, 64);
	nanosleep(&while_ns, NULL);
	read_some(w, &loader, 64);
	assert_int_equal(stats_of(w).prefetch_issued, 0);
}

/* Who waits for a time of day waits an hour longer then. */
TEST_OF(w, the_time_of_day_does_not_count)
{
	const struct timespec while_ns = {.tv_nsec = 1000000};
	time_t until = time(NULL) + PATIENCE;
	struct loader loader;

	set_back = 3600;
	begin(w, 2);
	load(&loader, drawn(SEED));
	read_some(w, &loader, 64);
	while (!locked && time(NULL) < until)
		nanosleep(&while_ns, NULL);
	set_back = 0;
	assert_int_equal(locked, 1);
}

/* Threads that read at the same time, and look at the stats. */
struct job {
	struct world *w;
	pthread_t id;
	struct call call;
	struct loader loader;
	uint32_t order[FILES], first_reader;
};

static void *job_thread(void *arg)
{
	struct job *job = arg;
	struct world *w = job->w;
	uint32_t reader, file;

	is_reader = true;
	while (loader_next(&job->loader, &reader, &file)) {
		reads_as = job->first_reader + reader;
		cache_opened(w->cache, file, reads_as, NULL);
		ask_all_of(&job->call, w, file);
		if (!wait_done(&job->call))
			return job;
		stats_of(w);
	}
	return NULL;
}

TEST_OF(w, two_jobs_read_as_they_like_meanwhile)
{
	struct job *jobs = calloc(2, sizeof(*jobs));

	begin(w, 2);
	assert_non_null(jobs);
	for (uint32_t j = 0; j < 2; j++) {
		struct job *job = &jobs[j];

		job->w = w;
		job->first_reader = 1000 * j;
		permutation_of(drawn(SEED + j), job->order, FILES);
		loader_init(&job->loader, job->order, FILES / 2, 3, 16);
		assert_int_equal(pthread_create(&job->id, NULL, job_thread, job), 0);
	}
	for (uint32_t j = 0; j < 2; j++) {
		void *fault;

		pthread_join(jobs[j].id, &fault);
		assert_null(fault);
	}
	free(jobs);
}

/* --- stopping -------------------------------------------------------------------------------- */

/* At whatever it is: the order is one for which all seeds would have to be tried. */
TEST_OF(w, what_is_thought_about_ends_when_the_cache_stops)
{
	struct loader loader;
	time_t began;

	begin(w, 2);
	assert_string_equal(stats_of(w).oracle.why, "idle");
	load(&loader, LARGE);
	assert_int_equal(read_some(w, &loader, 200), 200);
	began = time(NULL);
	cache_stop(w->cache);
	assert_true(time(NULL) - began < 20 * SLOWER);
	assert_int_equal(locked, 0);
}

static void *stop_thread(void *arg)
{
	cache_stop(arg);
	return NULL;
}

TEST_OF(w, who_waits_for_a_thought_to_end_sleeps)
{
	const struct timespec while_ns = {.tv_nsec = 300000000};
	struct loader loader;
	unsigned long looked;
	pthread_t id;

	begin(w, 2);
	held = true;
	load(&loader, drawn(SEED));
	read_some(w, &loader, 64);
	assert_true(wait_until(w, somebody));
	looked = looks;
	assert_int_equal(pthread_create(&id, NULL, stop_thread, w->cache), 0);
	nanosleep(&while_ns, NULL);
	looked = looks - looked;
	pthread_mutex_lock(&w->lock);
	held = false;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(id, NULL);
	assert_true(looked < 1000);
}

TEST_OF(w, a_cache_that_was_never_started_can_be_freed)
{
	struct cache_params params;

	lay_even(w, 16, BYTES);
	params = params_of(w, MIB, 1);
	params.oracle_cpus = 2;
	assert_int_equal(cache_new(&params, &w->cache), 0);
	for (uint32_t i = 0; i < 16; i++)
		order[i] = 15 - i;
	assert_int_equal(cache_order(w->cache, order, 16), 0);
}

/* --- orders that are given ------------------------------------------------------------------- */

static void give_order(struct world *w)
{
	for (uint32_t i = 0; i < FILES; i++)
		order[i] = (uint32_t)(i * (uint64_t)1597 % FILES);
	assert_int_equal(cache_order(w->cache, order, FILES), 0);
}

/* No list has it, and no seed makes it; nothing may be guessed either. */
TEST_OF(w, a_given_order_is_read_ahead)
{
	struct cache_stats stats;
	unsigned late = 0;

	begin(w, 0);
	assert_string_equal(stats_of(w).oracle.state, "off");
	assert_string_equal(stats_of(w).oracle.why, "");
	give_order(w);
	read_as(w, 5, order[0]);
	for (uint32_t i = 1; i < 1000; i++) {
		wait_there(w, order[i], &late);
		read_as(w, 5, order[i]);
	}
	stats = stats_of(w);
	assert_true(stats.misses < 1000 / 50);
	assert_string_equal(stats.oracle.state, "locked");
	assert_string_equal(stats.oracle.sampler, "given");
	/* The oracle hears of it a little later. */
	assert_true(poll_until(stats_of(w).oracle.position == 1000));
	assert_int_equal(cache_order(w->cache, NULL, 0), 0);
	assert_string_not_equal(stats_of(w).oracle.state, "locked");
	assert_int_equal(locked, 0);
}

TEST_OF(w, what_readers_keep_is_not_read_ahead)
{
	begin(w, 0);
	give_order(w);
	cache_kept(w->cache, order[40], true);
	cache_kept(w->cache, order[39], true);
	cache_kept(w->cache, order[39], false);
	read_as(w, 5, order[0]);
	assert_true(poll_until(is_there(w, order[39]) && is_there(w, order[41])));
	assert_false(is_there(w, order[40]));
}

TEST_OF(w, without_processors_nothing_is_guessed)
{
	struct loader loader;

	begin(w, 0);
	load(&loader, drawn(SEED));
	read_some(w, &loader, 200);
	assert_string_equal(stats_of(w).oracle.state, "off");
	assert_int_equal(locked, 0);
}

/* The thread does not run, so that nothing is taken out of the ring. */
TEST_OF(w, what_finds_the_ring_full_is_dropped_and_counted)
{
	struct cache_params params;

	lay_even(w, FILES, BYTES);
	params = params_for(w, BUFFERED, MIB, 4);
	params.oracle_cpus = 1;
	assert_int_equal(cache_new(&params, &w->cache), 0);
	for (unsigned i = 0; i < ORACLE_SEEN + 3; i++)
		cache_opened(w->cache, i % FILES, 1, NULL);
	assert_int_equal(stats_of(w).oracle.dropped, 3);
}
