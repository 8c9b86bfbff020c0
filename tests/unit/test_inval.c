/* Dropping behind the readers: fs/inval.h. The kernel counts what it was told to inval, behind
 * a gate that holds up the threads; every wait is for an event. */
#include "base/scope.h"
#include "fs/inval.h"
#include "tests/unit/test.h"
#include <stdbool.h>
#include <time.h>

#define EXTENTS	 (64 * INVAL_EXTENTS)
#define PLENTY	 ((uint64_t)1 << 40)
#define LEFT	 (INVAL_EXTENTS - INVAL_EXTENTS / 8) /* of too many, once the threads rest */
#define PATIENCE 60 /* seconds after which an event counts as lost */

struct kernel {
	struct inval *inval;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool shut;
	unsigned waiting; /* at the gate */
	unsigned dropped; /* all in all */
	unsigned times[EXTENTS];
	bool copied[EXTENTS]; /* the kernel has a copy, says the test */
	unsigned copies;
	uint64_t report_within; /* an extent that is reported while it is dropped; EXTENTS: none */
};

static void let_go(void *context, uint64_t extent)
{
	struct kernel *k = context;

	if (extent == k->report_within) {
		k->report_within = EXTENTS;
		inval_add(k->inval, extent, 1);
	}
	SCOPE_LOCK(&k->lock);
	k->waiting++;
	pthread_cond_broadcast(&k->changed);
	while (k->shut)
		pthread_cond_wait(&k->changed, &k->lock);
	k->waiting--;
	k->times[extent]++;
	k->copies -= k->copied[extent];
	k->copied[extent] = false;
	k->dropped++;
	pthread_cond_broadcast(&k->changed);
}

static struct kernel *kernel_new(uint64_t budget)
{
	struct kernel *k = calloc(1, sizeof(*k));

	assert_non_null(k);
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->changed, NULL);
	k->report_within = EXTENTS;
	assert_int_equal(inval_new(EXTENTS, budget, let_go, k, &k->inval), 0);
	assert_int_equal(inval_start(k->inval), 0);
	return k;
}

static void kernel_free(struct kernel *k)
{
	inval_stop(k->inval);
	inval_free(k->inval);
	pthread_cond_destroy(&k->changed);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

static int begin(void **state)
{
	*state = kernel_new(PLENTY);
	return 0;
}

static int end(void **state)
{
	kernel_free(*state);
	return 0;
}

FIXTURE_BY(k, struct kernel, begin, end);

static void set_gate(struct kernel *k, bool shut)
{
	SCOPE_LOCK(&k->lock);
	k->shut = shut;
	pthread_cond_broadcast(&k->changed);
}

/* Lock held. */
static void wait_for_change(struct kernel *k)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE;
	assert_int_equal(pthread_cond_timedwait(&k->changed, &k->lock, &until), 0);
}

static void wait_at_gate(struct kernel *k)
{
	SCOPE_LOCK(&k->lock);
	while (k->waiting == 0)
		wait_for_change(k);
}

static void wait_dropped(struct kernel *k, unsigned count)
{
	SCOPE_LOCK(&k->lock);
	while (k->dropped < count)
		wait_for_change(k);
}

/* The threads have ended: this is all. */
static unsigned dropped_in_all(struct kernel *k)
{
	inval_stop(k->inval);
	return k->dropped;
}

static void report(struct kernel *k, unsigned from, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		inval_add(k->inval, from + i, 4096);
}

/* The oldest, each once; two threads may overtake each other by a step. */
static void assert_oldest_dropped(const struct kernel *k, unsigned from, unsigned count)
{
	for (unsigned i = 0; i < EXTENTS; i++)
		assert_int_equal(k->times[i], i >= from && i < from + count);
}

/* --- how far it lags ------------------------------------------------------------------------- */

TEST_OF(k, test_nothing_is_dropped_while_few_lag_behind)
{
	report(k, 0, INVAL_EXTENTS);
	assert_int_equal(dropped_in_all(k), 0);
}

TEST_OF(k, test_one_too_many_drops_a_batch_of_the_oldest)
{
	report(k, 0, INVAL_EXTENTS + 1);
	wait_dropped(k, INVAL_EXTENTS + 1 - LEFT);
	assert_int_equal(dropped_in_all(k), INVAL_EXTENTS + 1 - LEFT);
	assert_oldest_dropped(k, 0, INVAL_EXTENTS + 1 - LEFT);
}

TEST(test_bytes_are_bounded_as_well)
{
	struct kernel *k = kernel_new(16 * 4096);

	report(k, 0, 16);
	report(k, 16, 1);
	wait_dropped(k, 3); /* 14 of 16 may stay */
	assert_int_equal(dropped_in_all(k), 3);
	assert_oldest_dropped(k, 0, 3);
	kernel_free(k);
}

TEST(test_extents_larger_than_the_budget_go_at_once)
{
	struct kernel *k = kernel_new(4096);

	for (unsigned i = 0; i < 3; i++) {
		inval_add(k->inval, i, 1 << 20);
		wait_dropped(k, i + 1);
	}
	assert_oldest_dropped(k, 0, 3);
	kernel_free(k);
}

/* --- reported again -------------------------------------------------------------------------- */

TEST_OF(k, test_reported_again_it_is_not_dropped_for_the_older_report)
{
	report(k, 0, INVAL_EXTENTS);
	inval_add(k->inval, 0, 4096);
	report(k, INVAL_EXTENTS, 1);
	wait_dropped(k, INVAL_EXTENTS + 1 - LEFT);
	assert_int_equal(dropped_in_all(k), INVAL_EXTENTS + 1 - LEFT);
	assert_oldest_dropped(k, 1, INVAL_EXTENTS + 1 - LEFT);
}

TEST_OF(k, test_reported_again_it_is_dropped_once_in_the_end)
{
	for (int i = 0; i < 3; i++)
		report(k, 0, INVAL_EXTENTS);
	report(k, INVAL_EXTENTS, 1);
	wait_dropped(k, INVAL_EXTENTS + 1 - LEFT); /* all of them had their second chance */
	report(k, INVAL_EXTENTS + 1, 2 * INVAL_EXTENTS);
	wait_dropped(k, 2 * INVAL_EXTENTS + 1);
	dropped_in_all(k);
	for (unsigned i = 0; i < INVAL_EXTENTS; i++)
		assert_int_equal(k->times[i], 1);
}

TEST(test_one_extent_reported_for_ever_crowds_nobody_out)
{
	struct kernel *k = kernel_new(2 * 4096);

	report(k, 0, 2);
	for (unsigned i = 0; i < 100000; i++)
		inval_add(k->inval, 1, 4096);
	assert_int_equal(dropped_in_all(k), 0);
	kernel_free(k);
}

/* A READ is answered between the decision and the inval, and its pages may come after it. */
TEST_OF(k, test_reported_while_it_is_dropped_it_is_dropped_again)
{
	k->report_within = 0;
	report(k, 0, INVAL_EXTENTS + 1);
	wait_dropped(k, INVAL_EXTENTS + 1 - LEFT);
	report(k, INVAL_EXTENTS + 1, 2 * INVAL_EXTENTS);
	wait_dropped(k, 2 * INVAL_EXTENTS + 2);
	dropped_in_all(k);
	assert_int_equal(k->times[0], 2);
}

/* --- a kernel that is slow ------------------------------------------------------------------- */

TEST_OF(k, test_threads_held_up_hold_up_no_reporter_and_loses_nothing)
{
	set_gate(k, true);
	report(k, 0, INVAL_EXTENTS + 1);
	wait_at_gate(k);
	report(k, INVAL_EXTENTS + 1, EXTENTS - INVAL_EXTENTS - 1);
	assert_int_equal(k->dropped, 0);
	set_gate(k, false);
	wait_dropped(k, EXTENTS - LEFT);
	assert_int_equal(dropped_in_all(k), EXTENTS - LEFT);
	assert_oldest_dropped(k, 0, EXTENTS - LEFT);
}

TEST_OF(k, test_stopping_does_not_wait_for_those_in_line)
{
	report(k, 0, INVAL_EXTENTS);
	assert_int_equal(dropped_in_all(k), 0);
}

TEST(test_it_may_be_freed_without_a_start)
{
	struct kernel k = {0};

	assert_int_equal(inval_new(1, PLENTY, let_go, &k, &k.inval), 0);
	inval_add(k.inval, 0, 1);
	inval_stop(k.inval);
	inval_free(k.inval);
	inval_free(NULL);
}

TEST(test_too_many_extents_are_refused)
{
	struct inval *inval = NULL;

	assert_int_equal(inval_new(UINT32_MAX, PLENTY, let_go, NULL, &inval), -EOVERFLOW);
	assert_null(inval);
}

/* --- many who report ------------------------------------------------------------------------- */

#define REPORTERS 4
#define FILLERS	  (EXTENTS / 2) /* from here on: to push the others out */

struct reporter {
	pthread_t thread;
	struct kernel *kernel;
	unsigned number;
};

static void copy(struct kernel *k, unsigned extent)
{
	pthread_mutex_lock(&k->lock);
	k->copies += !k->copied[extent];
	k->copied[extent] = true;
	pthread_mutex_unlock(&k->lock);
	inval_add(k->inval, extent, 4096);
}

/* Each reporter meets the others at some of its extents, and itself in each pass. */
static void *copy_many(void *arg)
{
	const struct reporter *r = arg;

	for (unsigned pass = 0; pass < 3; pass++)
		for (unsigned i = r->number % 2; i < FILLERS; i += 2)
			copy(r->kernel, i);
	return NULL;
}

static void wait_copies(struct kernel *k, unsigned most)
{
	SCOPE_LOCK(&k->lock);
	while (k->copies > most)
		wait_for_change(k);
}

static void wait_times(struct kernel *k, unsigned extent)
{
	SCOPE_LOCK(&k->lock);
	while (k->times[extent] == 0)
		wait_for_change(k);
}

TEST_OF(k, test_of_many_reporters_no_copy_stays_for_good)
{
	struct reporter reporters[REPORTERS];

	for (unsigned i = 0; i < REPORTERS; i++) {
		reporters[i] = (struct reporter){.kernel = k, .number = i};
		assert_int_equal(
			pthread_create(&reporters[i].thread, NULL, copy_many, &reporters[i]), 0);
	}
	for (unsigned i = 0; i < REPORTERS; i++)
		pthread_join(reporters[i].thread, NULL);
	wait_copies(k, INVAL_EXTENTS);
	/* Those in line get their second chance before the first filler goes, and go before the
	 * last of the others. */
	report(k, FILLERS, 2 * INVAL_EXTENTS);
	wait_times(k, FILLERS);
	report(k, FILLERS + 2 * INVAL_EXTENTS, 2 * INVAL_EXTENTS);
	wait_copies(k, 0);
}
