/* When the pool gives memory back: fs/pressure.h. */
#define TEST_MAIN
#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include "fs/pressure.h"
#include "tests/unit/trace.h"
#include <sys/stat.h>
#include <time.h>

#define BUDGET (4 * GIB)
#define LEAST  (8 * MIB)

/* A machine of 16 GiB (its reserve is 1 GiB) with a pool. */
struct world {
	struct pressure_state state;
	uint64_t whole, others; /* bytes; used by everything but the pool */
	uint64_t used, limit;
	unsigned steps; /* changes of the limit */
};

static struct world make_world(uint64_t others, uint64_t used)
{
	return (struct world){.state = {.budget = BUDGET, .least = LEAST},
			      .whole = 16 * GIB,
			      .others = others,
			      .used = used,
			      .limit = BUDGET};
}

static struct pressure_view view_of(const struct world *world)
{
	uint64_t taken = world->others + world->used;

	return (struct pressure_view){.whole = world->whole,
				      .available = taken < world->whole ? world->whole - taken : 0,
				      .used = world->used,
				      .limit = world->limit};
}

/* One look; the pool obeys. */
static void look(struct world *world, unsigned ticks)
{
	struct pressure_view view = view_of(world);
	uint64_t limit = pressure_limit(&world->state, &view, ticks);

	assert_in_range(limit, LEAST, BUDGET);
	world->steps += limit != world->limit;
	world->limit = limit;
	if (world->used > limit)
		world->used = limit;
}

/* A trace: what the pool and others use, and the limit that comes of it, in MiB.
 *
 *	whole N, others N, used N
 *	full			the pool fills up to its limit
 *	look TICKS [TIMES]	so often; the pool obeys
 *	limit N, steps N	after so many changes of it, which count anew then */
static void run(struct world *w, const char *text)
{
	struct trace trace = trace_begin(text);

	while (trace_next(&trace)) {
		const struct trace_sum sums[] = {{"limit", w->limit}, {NULL, 0}};

		if (trace_equals(&trace, sums, MIB))
			continue;
		if (trace_is(&trace, "whole")) {
			w->whole = trace_sum(&trace, MIB);
		} else if (trace_is(&trace, "others")) {
			w->others = trace_sum(&trace, MIB);
		} else if (trace_is(&trace, "used")) {
			w->used = trace_sum(&trace, MIB);
		} else if (trace_is(&trace, "full")) {
			w->used = w->limit;
		} else if (trace_is(&trace, "steps")) {
			assert_int_equal(w->steps, trace_number(&trace));
			w->steps = 0;
		} else {
			unsigned ticks = (unsigned)trace_number(&trace);

			for (uint64_t times = trace_number(&trace); times > 0; times--)
				look(w, ticks);
		}
	}
}

#define TRACE(name, text)                          \
	TEST(name)                                 \
	{                                          \
		struct world w = make_world(0, 0); \
                                                   \
		run(&w, text);                     \
	}                                          \
	_Static_assert(1, "")

TRACE(with_plenty_the_pool_keeps_its_budget,
      "others 2048; look 5 1; used 1024; look 5 10; used 2048; look 5 10; full; look 5 10;"
      "steps 0; limit 4096");

/* Half of the reserve is left. */
TEST(a_deficit_is_given_back_at_once)
{
	struct world w = make_world(11 * GIB + 512 * MIB, BUDGET);

	run(&w, "look 1 1; limit 3584; look 1 2; steps 1");
}

TRACE(a_pool_that_is_not_full_gives_back_what_it_holds,
      "others 14848; used 1024; look 1 1; limit 512");

/* There are 2 GiB until the reserve. */
TRACE(a_pool_may_not_grow_into_the_reserve,
      "others 13312; look 5 1; limit 2048; full; look 5 1; limit 2048");

TRACE(the_least_is_kept_whatever_happens,
      "others 16384; used 1024; look 1 1; limit 8; look 1 100; steps 1; limit 8");

/* Extents in use cannot leave: what was asked for already is not asked for again. */
TRACE(a_pool_that_obeys_late_is_not_asked_twice,
      "others 11776; used 4096; look 1 1; limit 3584; used 4096; look 1 1; limit 3584;"
      "used 4096; look 1 1; used 4096; look 1 1; limit 3584; steps 1");

TRACE(it_grows_back_by_eighths_after_some_calm,
      "others 15360; used 1024; look 1 1; limit 8; others 2048; look 1 24; limit 8;"
      "look 1 1; limit 520; look 5 30; limit 3592; look 5 100; limit 4096; steps 9");

TEST(calm_that_is_interrupted_begins_anew)
{
	struct world w = make_world(15 * GIB, 1 * GIB);

	run(&w, "look 1 1");
	for (int i = 0; i < 10; i++)
		run(&w, "others 2048; look 24 1; others 15360; look 1 1");
	run(&w, "limit 8; steps 1");
}

TEST(it_grows_no_further_than_two_reserves_from_the_end)
{
	struct world w = make_world(16 * GIB, 0);

	run(&w, "look 1 1; others 11264");
	for (int i = 0; i < 1000; i++)
		run(&w, "look 5 1; full");
	run(&w, "limit 3072");
}

TEST(between_the_reserve_and_twice_the_reserve_nothing_happens)
{
	struct world w = make_world(13 * GIB, 2 * GIB);

	run(&w, "look 5 1");
	w.steps = 0;
	for (int i = 0; i < 100; i++)
		run(&w, "others 12416; look 5 1; others 12800; look 5 1; others 13312; look 5 1");
	run(&w, "steps 0");
}

/* 64 MiB, not 16; and 1 GiB, not 64. */
TRACE(the_reserve_has_bounds, "whole 256; others 180; used 60; look 1 1; limit 12");
TRACE(the_reserve_of_a_large_machine_has_bounds,
      "whole 1048576; others 1046528; look 1 1; limit 1024");

/* Ten thousand looks while others take and free as they like: never less than the reserve where
 * the pool could give, and its own growth never is what makes it shrink. */
TEST(whatever_others_do_the_reserve_is_given)
{
	struct world w = make_world(4 * GIB, 0);

	srandom(1);
	for (int i = 0; i < 10000; i++) {
		unsigned steps = w.steps;

		if (i % 200 == 0)
			w.others = (uint64_t)random() * KIB % (w.whole - w.used);
		look(&w, 5);
		assert_true(view_of(&w).available >= 1 * GIB || w.limit == LEAST);
		if (i % 200 > 0 && w.limit < BUDGET && view_of(&w).available < 2 * GIB)
			assert_int_equal(w.steps, steps);
		w.used += (uint64_t)random() % (w.limit - w.used + 1);
	}
}

TEST(it_looks_more_often_when_memory_is_nearly_short)
{
	struct pressure_view view = {.whole = 256 * GIB, .available = 200 * GIB};

	assert_int_equal(pressure_wait(&view), 25);
	for (unsigned seconds = 5; seconds; seconds--) {
		view.available = seconds * 4 * GIB;
		assert_int_equal(pressure_wait(&view), seconds * 5);
		assert_true(view.available - seconds * 3 * GIB >= 1 * GIB);
	}
	view.available--;
	assert_int_equal(pressure_wait(&view), 1);
}

/* --- the thread, with a /proc of its own --- */

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t used, limit; /* protected by lock, as are the next */
	uint64_t available;   /* on the machine; what the pool gives back is */
	unsigned looks;
};

/* Replaced as a whole: the thread never sees half of it. */
static void write_available(uint64_t bytes)
{
	FILE *file = fopen("machine/new", "w");

	assert_non_null(file);
	fprintf(file, "MemTotal: %llu kB\nMemAvailable: %llu kB\n",
		(unsigned long long)(16 * GIB / KIB), (unsigned long long)(bytes / KIB));
	fclose(file);
	assert_int_equal(rename("machine/new", "machine/proc/meminfo"), 0);
}

static void set_available(struct pool *pool, uint64_t bytes)
{
	SCOPE_LOCK(&pool->lock);
	pool->available = bytes;
	write_available(bytes);
}

static void pool_usage(void *context, uint64_t *ret_used, uint64_t *ret_limit)
{
	struct pool *pool = context;

	SCOPE_LOCK(&pool->lock);
	pool->looks++;
	*ret_used = pool->used;
	*ret_limit = pool->limit;
	pthread_cond_signal(&pool->changed);
}

static void pool_set_limit(void *context, uint64_t bytes)
{
	struct pool *pool = context;

	SCOPE_LOCK(&pool->lock);
	pool->limit = bytes;
	if (pool->used > bytes) {
		pool->available += pool->used - bytes;
		pool->used = bytes;
		write_available(pool->available);
	}
	pthread_cond_signal(&pool->changed);
}

static void wait_changed(struct pool *pool)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 30;
	assert_int_equal(pthread_cond_timedwait(&pool->changed, &pool->lock, &end), 0);
}

static void wait_for_limit(struct pool *pool, uint64_t limit)
{
	SCOPE_LOCK(&pool->lock);
	while (pool->limit != limit)
		wait_changed(pool);
}

static void wait_for_looks(struct pool *pool, unsigned more)
{
	SCOPE_LOCK(&pool->lock);
	for (unsigned end = pool->looks + more; pool->looks < end;)
		wait_changed(pool);
}

static struct pressure *start(struct pool *pool, uint64_t available)
{
	const struct pressure_params params = {
		.root = "machine",
		.tick_ms = 1,
		.least = LEAST,
		.ops = {.context = pool, .usage = pool_usage, .set_limit = pool_set_limit}};
	struct pressure *pressure;

	pool->used = pool->limit = BUDGET;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->changed, NULL);
	mkdir("machine", 0777);
	mkdir("machine/proc", 0777);
	set_available(pool, available);
	assert_int_equal(pressure_start(&params, &pressure), 0);
	return pressure;
}

TEST(the_thread_shrinks_the_pool_and_lets_it_grow_again)
{
	struct pool pool = {0};
	struct pressure *pressure = start(&pool, 512 * MIB);

	wait_for_limit(&pool, BUDGET - 512 * MIB);
	set_available(&pool, 8 * GIB);
	wait_for_limit(&pool, BUDGET);
	pressure_stop(pressure);
}

TEST(the_thread_leaves_a_pool_with_plenty_alone)
{
	struct pool pool = {0};
	struct pressure *pressure = start(&pool, 8 * GIB);

	wait_for_looks(&pool, 50);
	pressure_stop(pressure);
	assert_int_equal(pool.limit, BUDGET);
	assert_int_equal(pool.used, BUDGET);
}

/* A thread that is asleep for days ends at once. */
TEST(stopping_does_not_wait_for_the_next_look)
{
	struct pool pool = {.used = BUDGET, .limit = BUDGET};
	const struct pressure_params params = {
		.root = "machine",
		.tick_ms = 100000000,
		.least = LEAST,
		.ops = {.context = &pool, .usage = pool_usage, .set_limit = pool_set_limit}};
	struct pressure *pressure;

	pthread_mutex_init(&pool.lock, NULL);
	pthread_cond_init(&pool.changed, NULL);
	assert_int_equal(pressure_start(&params, &pressure), 0);
	pressure_stop(pressure);
	pressure_stop(NULL);
}

/* What is written to standard error between begin and end. */
struct capture {
	int saved;
	char text[4096];
};

static void capture_begin(struct capture *capture)
{
	fflush(stderr);
	capture->saved = dup(STDERR_FILENO);
	assert_non_null(freopen("stderr.txt", "w+", stderr));
}

static void capture_end(struct capture *capture)
{
	size_t length;

	fseek(stderr, 0, SEEK_SET);
	length = fread(capture->text, 1, sizeof(capture->text) - 1, stderr);
	capture->text[length] = '\0';
	dup2(capture->saved, STDERR_FILENO);
	close(capture->saved);
}

TEST(it_says_when_it_begins_and_when_it_is_over_and_no_more)
{
	struct capture capture;
	struct pool pool = {0};
	struct pressure *pressure;

	capture_begin(&capture);
	pressure = start(&pool, 512 * MIB);
	wait_for_limit(&pool, BUDGET - 512 * MIB);
	set_available(&pool, 256 * MIB);
	wait_for_looks(&pool, 3);
	set_available(&pool, 8 * GIB);
	wait_for_limit(&pool, BUDGET);
	wait_for_looks(&pool, 3);
	pressure_stop(pressure);
	capture_end(&capture);
	assert_string_equal(
		capture.text,
		"test: memory is short, 512 MiB available: for now the pool may use 3.5 GiB, "
		"not 4 GiB\n"
		"test: memory is no longer short: the pool may use 4 GiB again\n");
}

int main(void)
{
	log_init("test", LOG_LEVEL_NORMAL);
	return test_run(NULL, NULL);
}
