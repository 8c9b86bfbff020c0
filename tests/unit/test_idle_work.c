/* What searches take of the processors: cache/idle_work.h. Time is the test's own; others want a
 * part of each processor. */
#include "base/clock.h"
#include "cache/idle_work.h"
#include "tests/unit/test.h"
#include <sched.h>

#define MS     1000000u
#define SECOND ((uint64_t)1000 * MS)

static uint64_t now, used, slept; /* ns */
static unsigned wanted;		  /* per cent of the time in which the thread would run */
static bool idle;		  /* priority, */
static bool was_idle;		  /* and that of the last search before its end */
static uint64_t over;		  /* the time at which the search is */
static int processors;
static uint64_t step; /* ns of work between two looks */

/* These take the place of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *ret)
{
	uint64_t ns = clock == CLOCK_THREAD_CPUTIME_ID ? used : now;

	*ret = (struct timespec){.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};
	return 0;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)left;
	now += (uint64_t)time->tv_nsec;
	slept += (uint64_t)time->tv_nsec;
	return 0;
}

int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *param)
{
	(void)param;
	assert_true(pthread_equal(thread, pthread_self()));
	idle = policy == SCHED_IDLE;
	return 0;
}

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
	(void)pid;
	CPU_ZERO_S(bytes, set);
	for (size_t i = 0; i < (size_t)processors; i++)
		CPU_SET_S(i, bytes, set);
	return 0;
}

static bool is_over(void *context)
{
	(void)context;
	return now >= over;
}

/* A search on a new thread, that uses so much of a processor. */
static void search(struct idle_work *work, uint64_t ns)
{
	used = 0;
	idle_work_begin(work);
	while (used < ns && !is_over(NULL)) {
		uint64_t part = idle ? 100 - wanted : 100;

		now += part ? step * 100 / part : step;
		used += part ? step : 0;
		idle_work_give(work, is_over, NULL);
	}
	was_idle = idle;
	idle_work_end(work);
	assert_false(idle);
}

static void setup(struct idle_work *work)
{
	processors = 1;
	now = SECOND;
	slept = wanted = 0;
	step = MS;
	over = UINT64_MAX;
	idle_work_init(work, IDLE_WORK_SAVED, IDLE_WORK_SAVED);
}

static void teardown(struct idle_work *work)
{
	(void)work;
}

FIXTURE(work, struct idle_work, setup, teardown);

TEST_OF(work, a_search_has_the_normal_priority_for_a_fifth_of_a_second)
{
	search(work, 190 * MS);
	assert_false(was_idle);
	search(work, 30 * MS);
	assert_true(was_idle);
}

TEST_OF(work, a_search_may_have_saved_more)
{
	idle_work_init(work, SECOND, SECOND);
	wanted = 50;
	search(work, 950 * MS);
	assert_false(was_idle);
	search(work, 100 * MS);
	assert_true(was_idle);
	now += 1000 * SECOND;
	slept = 0;
	search(work, 950 * MS);
	assert_false(was_idle);
	assert_int_equal(slept, 0);
}

TEST_OF(work, what_others_leave_is_taken)
{
	search(work, 100 * SECOND);
	assert_true(was_idle);
	assert_int_equal(slept, 0);
}

TEST_OF(work, where_others_want_all_it_takes_a_hundredth)
{
	wanted = 50; /* a group has its share */
	over = 1000 * SECOND;
	search(work, 1000 * SECOND);
	assert_in_range(used, 9 * SECOND, 10 * SECOND + 300 * MS);
}

/* As with seeds that are tried in hundreds of ways. */
TEST_OF(work, long_steps_take_no_more)
{
	wanted = 60;
	step = 100 * MS;
	over = 1000 * SECOND;
	search(work, 1000 * SECOND);
	assert_in_range(used, 4 * SECOND, 10 * SECOND + 300 * MS);
}

TEST_OF(work, where_others_want_all_it_takes_a_hundredth_of_each)
{
	processors = 8;
	idle_work_init(work, IDLE_WORK_SAVED, IDLE_WORK_SAVED);
	wanted = 50;
	over = 100 * SECOND;
	search(work, 1000 * SECOND);
	assert_in_range(used, 7 * SECOND, 8 * SECOND + 300 * MS);
}

TEST_OF(work, where_others_want_a_little_it_goes_on_most_of_the_time)
{
	wanted = 1;
	over = 100 * SECOND;
	search(work, 100 * SECOND);
	assert_true(used > 90 * SECOND);
}

TEST_OF(work, a_search_that_never_gets_a_processor_sleeps)
{
	uint64_t began = now;

	wanted = 100;
	over = now + 100 * SECOND;
	search(work, 100 * SECOND);
	assert_true(slept > 95 * SECOND);
	assert_true(now - began < 103 * SECOND);
}

TEST_OF(work, many_short_searches_have_as_little_as_a_long_one)
{
	uint64_t all = 0;

	wanted = 50;
	for (over = 100 * SECOND; !is_over(NULL); all += used)
		search(work, 7 * MS);
	assert_true(all < SECOND + 300 * MS);
}

TEST_OF(work, what_was_saved_meanwhile_is_for_the_next_search)
{
	search(work, 500 * MS);
	now += 10 * SECOND;
	search(work, 90 * MS);
	assert_false(was_idle);
	search(work, 30 * MS);
	assert_true(was_idle);
	now += 1000 * SECOND;
	search(work, 190 * MS);
	assert_false(was_idle);
	search(work, 30 * MS);
	assert_true(was_idle);
}

TEST_OF(work, a_search_that_sleeps_ends_at_once)
{
	wanted = 100;
	over = now + 300 * MS;
	search(work, 100 * SECOND);
	assert_true(now < over + 25 * MS);
}
