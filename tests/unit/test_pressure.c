/* When the pool gives memory back: fs/pressure.h. */
#define TEST_MAIN
#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include "fs/pressure.h"
#include "tests/unit/story.h"
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

static struct world *the_world;

static void begin_world(struct world *world)
{
	the_world = world;
	*world = (struct world){
		.state = {.budget = BUDGET, .least = LEAST}, .whole = 16 * GIB, .limit = BUDGET};
}

FIXTURE(w, struct world, begin_world, (void));

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

/* In stories what the pool and others use, and the limit that comes of it. `full`: the pool fills
 * up to its limit. `look`: after so many ticks, so often; the pool obeys. `steps`: changes of the
 * limit. */
DOES(whole, the_world->whole = n[0])
DOES(others, the_world->others = n[0])
DOES(used, the_world->used = n[0])
DOES(full, the_world->used = the_world->limit)
DOES(recount, the_world->steps = 0)
GET(limit, the_world->limit)
GET(steps, the_world->steps)

DO(look)
{
	for (uint64_t times = n[1]; times > 0; times--)
		look(the_world, (unsigned)n[0]);
}

STORY_OF(w, with_plenty_the_pool_keeps_its_budget,
	 "others 2048M; look 5 1; used 1024M; look 5 10; used 2048M; look 5 10; full; look 5 10; "
	 "steps = 0; limit = 4096M")

/* Half of the reserve is left. */
STORY_OF(w, a_deficit_is_given_back_at_once,
	 "others 11776M; used 4096M; look 1 1; limit = 3584M; look 1 2; steps = 1")

STORY_OF(w, a_pool_that_is_not_full_gives_back_what_it_holds,
	 "others 14848M; used 1024M; look 1 1; limit = 512M")

/* There are 2 GiB until the reserve. */
STORY_OF(w, a_pool_may_not_grow_into_the_reserve,
	 "others 13312M; look 5 1; limit = 2048M; full; look 5 1; limit = 2048M")

STORY_OF(w, the_least_is_kept_whatever_happens,
	 "others 16384M; used 1024M; look 1 1; limit = 8M; look 1 100; steps = 1; limit = 8M")

/* Extents in use cannot leave: what was asked for already is not asked for again. */
STORY_OF(w, a_pool_that_obeys_late_is_not_asked_twice,
	 "others 11776M; used 4096M; look 1 1; limit = 3584M; used 4096M; look 1 1; limit = 3584M; "
	 "used 4096M; look 1 1; used 4096M; look 1 1; limit = 3584M; steps = 1")

STORY_OF(w, it_grows_back_by_eighths_after_some_calm,
	 "others 15360M; used 1024M; look 1 1; limit = 8M; others 2048M; look 1 24; limit = 8M; "
	 "look 1 1; limit = 520M; look 5 30; limit = 3592M; look 5 100; limit = 4096M; steps = 9")

TEST_OF(w, calm_that_is_interrupted_begins_anew)
{
	story_play("others 15360M; used 1024M; look 1 1");
	for (int i = 0; i < 10; i++)
		story_play("others 2048M; look 24 1; others 15360M; look 1 1");
	story_play("limit = 8M; steps = 1");
}

TEST_OF(w, it_grows_no_further_than_two_reserves_from_the_end)
{
	story_play("others 16384M; look 1 1; others 11264M");
	for (int i = 0; i < 1000; i++)
		story_play("look 5 1; full");
	story_play("limit = 3072M");
}

TEST_OF(w, between_the_reserve_and_twice_the_reserve_nothing_happens)
{
	story_play("others 13312M; used 2048M; look 5 1; recount");
	for (int i = 0; i < 100; i++)
		story_play(
			"others 12416M; look 5 1; others 12800M; look 5 1; others 13312M; "
			"look 5 1");
	story_play("steps = 0");
}

/* 64 MiB, not 16; and 1 GiB, not 64. */
STORY_OF(w, the_reserve_has_bounds, "whole 256M; others 180M; used 60M; look 1 1; limit = 12M")
STORY_OF(w, the_reserve_of_a_large_machine_has_bounds,
	 "whole 1048576M; others 1046528M; look 1 1; limit = 1024M")

/* Ten thousand looks while others take and free as they like: never less than the reserve where
 * the pool could give, and its own growth never is what makes it shrink. */
TEST_OF(w, whatever_others_do_the_reserve_is_given)
{
	w->others = 4 * GIB;
	srandom(1);
	for (int i = 0; i < 10000; i++) {
		unsigned steps = w->steps;

		if (i % 200 == 0)
			w->others = (uint64_t)random() * KIB % (w->whole - w->used);
		look(w, 5);
		assert_true(view_of(w).available >= 1 * GIB || w->limit == LEAST);
		if (i % 200 > 0 && w->limit < BUDGET && view_of(w).available < 2 * GIB)
			assert_int_equal(w->steps, steps);
		w->used += (uint64_t)random() % (w->limit - w->used + 1);
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

static struct pressure *start(struct pool *pool, unsigned tick_ms, uint64_t available)
{
	const struct pressure_params params = {
		.root = "machine",
		.tick_ms = tick_ms,
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

/* A thread that is asleep for days ends at once. */
TEST(stopping_does_not_wait_for_the_next_look)
{
	struct pool pool = {0};

	pressure_stop(start(&pool, 100000000, 8 * GIB));
	pressure_stop(NULL);
}

static void add_line(void *context, const char *line)
{
	strcat(strcat(context, line), "\n");
}

TEST(it_says_when_it_begins_and_when_it_is_over_and_no_more)
{
	char said[LOG_KEPT * LOG_KEPT_BYTES] = "";
	struct pool pool = {0};
	struct pressure *pressure = start(&pool, 1, 512 * MIB);

	wait_for_limit(&pool, BUDGET - 512 * MIB);
	set_available(&pool, 256 * MIB);
	wait_for_looks(&pool, 3);
	set_available(&pool, 8 * GIB);
	wait_for_limit(&pool, BUDGET);
	wait_for_looks(&pool, 3);
	pressure_stop(pressure);
	log_kept(add_line, said);
	assert_string_equal(said,
			    "memory is short, 512 MiB available: for now the pool may use 3.5 "
			    "GiB, not 4 GiB\n"
			    "memory is no longer short: the pool may use 4 GiB again\n");
}

int main(void)
{
	log_init("test", LOG_LEVEL_NORMAL);
	return test_run(NULL, NULL);
}
