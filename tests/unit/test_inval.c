/* Dropping behind the readers: fs/inval.h. The kernel counts what it was told to inval, behind
 * a gate that holds up the threads; every wait is for an event. */
#include "base/scope.h"
#include "fs/inval.h"
#include "tests/unit/patience.h"
#include "tests/unit/story.h"

#define EXTENTS (64 * INVAL_EXTENTS)
#define PLENTY	((uint64_t)1 << 40)
#define LEFT	(INVAL_EXTENTS - INVAL_EXTENTS / 8) /* of too many, once the threads rest */

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

static struct kernel *the_kernel;

static void begin_with(struct kernel *k, uint64_t budget)
{
	the_kernel = k;
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->changed, NULL);
	k->report_within = EXTENTS;
	assert_int_equal(inval_new(EXTENTS, budget, let_go, k, &k->inval), 0);
	assert_int_equal(inval_start(k->inval), 0);
}

static void begin(struct kernel *k)
{
	begin_with(k, PLENTY);
}

/* Room for so many pages. */
static void begin_with_one(struct kernel *k)
{
	begin_with(k, 4096);
}

static void begin_with_two(struct kernel *k)
{
	begin_with(k, 2 * 4096);
}

static void begin_with_sixteen(struct kernel *k)
{
	begin_with(k, 16 * 4096);
}

static void end(struct kernel *k)
{
	inval_stop(k->inval);
	inval_free(k->inval);
	pthread_cond_destroy(&k->changed);
	pthread_mutex_destroy(&k->lock);
}

FIXTURE(k, struct kernel, begin, end);
FIXTURE(one, struct kernel, begin_with_one, end);
FIXTURE(two, struct kernel, begin_with_two, end);
FIXTURE(sixteen, struct kernel, begin_with_sixteen, end);

static void set_gate(struct kernel *k, bool shut)
{
	SCOPE_LOCK(&k->lock);
	k->shut = shut;
	pthread_cond_broadcast(&k->changed);
}

/* Lock held. */
static void wait_for_change(struct kernel *k)
{
	const struct timespec until = patience();

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

static void report(struct kernel *k, unsigned from, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		inval_add(k->inval, from + i, 4096);
}

/* --- words ----------------------------------------------------------------------------------- */

NUMBER(many, INVAL_EXTENTS)		/* of which nothing is dropped */
NUMBER(batch, INVAL_EXTENTS + 1 - LEFT) /* that goes when there is one more */
NUMBER(others, EXTENTS - INVAL_EXTENTS - 1)
NUMBER(gone, EXTENTS - LEFT)

DOES(report, report(the_kernel, (unsigned)n[0], (unsigned)n[1]))
DOES(large, inval_add(the_kernel->inval, n[0], 1 << 20))
DOES(within, the_kernel->report_within = n[0])
DOES(shut, set_gate(the_kernel, true))
DOES(open, set_gate(the_kernel, false))
DOES(gate, wait_at_gate(the_kernel))
DOES(wait, wait_dropped(the_kernel, (unsigned)n[0]))
GET(dropped, the_kernel->dropped)
GET(times, the_kernel->times[n[0]])

/* The threads have ended: this is all. */
DO(in_all)
{
	inval_stop(the_kernel->inval);
	assert_int_equal(the_kernel->dropped, n[0]);
}

/* Each once; two threads may overtake each other by a step. */
DO(oldest)
{
	for (unsigned i = 0; i < EXTENTS; i++)
		assert_int_equal(the_kernel->times[i], i >= n[0] && i < n[0] + n[1]);
}

/* --- how far it lags ------------------------------------------------------------------------- */

STORY_OF(k, nothing_is_dropped_while_few_lag_behind_nor_when_it_stops, "report 0 many; in_all 0")

STORY_OF(k, one_too_many_drops_a_batch_of_the_oldest,
	 "report 0 many+1; wait batch; in_all batch; oldest 0 batch")

/* 14 of 16 may stay. */
STORY_OF(sixteen, bytes_are_bounded_as_well,
	 "report 0 16; report 16 1; wait 3; in_all 3; oldest 0 3")

STORY_OF(one, extents_larger_than_the_budget_go_at_once,
	 "large 0; wait 1; large 1; wait 2; large 2; wait 3; oldest 0 3")

/* --- reported again -------------------------------------------------------------------------- */

STORY_OF(k, reported_again_it_is_not_dropped_for_the_older_report,
	 "report 0 many; report 0 1; report many 1; wait batch; in_all batch; oldest 1 batch")

/* All of them had their second chance. */
TEST_OF(k, reported_again_it_is_dropped_once_in_the_end)
{
	story_play(
		"report 0 many; report 0 many; report 0 many; report many 1; wait batch; "
		"report many+1 many+many; wait many+many+1");
	inval_stop(k->inval);
	for (unsigned i = 0; i < INVAL_EXTENTS; i++)
		assert_int_equal(k->times[i], 1);
}

TEST_OF(two, one_extent_reported_for_ever_crowds_nobody_out)
{
	report(two, 0, 2);
	for (unsigned i = 0; i < 100000; i++)
		report(two, 1, 1);
	story_play("in_all 0");
}

/* A READ is answered between the decision and the inval, and its pages may come after it. */
STORY_OF(k, reported_while_it_is_dropped_it_is_dropped_again,
	 "within 0; report 0 many+1; wait batch; report many+1 many+many; wait many+many+2; "
	 "times 0 = 2")

/* --- a kernel that is slow ------------------------------------------------------------------- */

STORY_OF(k, threads_held_up_hold_up_no_reporter_and_lose_nothing,
	 "shut; report 0 many+1; gate; report many+1 others; dropped = 0; open; wait gone; "
	 "in_all gone; oldest 0 gone")

TEST(it_may_be_freed_without_a_start)
{
	struct kernel k = {0};

	assert_int_equal(inval_new(1, PLENTY, let_go, &k, &k.inval), 0);
	inval_add(k.inval, 0, 1);
	inval_stop(k.inval);
	inval_free(k.inval);
	inval_free(NULL);
}

TEST(too_many_extents_are_refused)
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

TEST_OF(k, of_many_reporters_no_copy_stays_for_good)
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
