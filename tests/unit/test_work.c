/* The queue of work and its threads: cache/work.h. Jobs wait at a gate, so that who runs when is
 * the test's decision and never the clock's. */
#define TEST_MAIN
#include "base/scope.h"
#include "cache/work.h"
#include "tests/unit/test.h"
#include <stdint.h>
#include <string.h>

#define ITEMS	     1000
#define HANG_SECONDS 300 /* a wakeup that is lost would be waited for for ever */

enum kind { WANTED, FOUND, KINDS };

struct job {
	struct work_item item; /* first */
	enum kind kind;
	char name;
	unsigned runs;
	struct job *then;     /* queued by this one while it runs */
	struct job *findable; /* the next one */
};

/* What the jobs of one test share. */
struct ground {
	struct work *work;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool open[KINDS]; /* jobs of that kind may pass */
	bool finding_held;
	unsigned finding, finds;   /* calls of find that are held, and all */
	uint64_t later;		   /* the next call of find has only another one after so many ns */
	unsigned depth;		   /* of found jobs at once */
	struct job *first, **last; /* to be found */
	unsigned running[KINDS], most[KINDS];
	unsigned done;
	char log[ITEMS + 1]; /* names, in the order in which the jobs began */
	unsigned logged;
};

static void job_run(void *context, struct work_item *item)
{
	struct ground *g = context;
	struct job *job = (struct job *)(void *)item;

	SCOPE_LOCK(&g->lock);
	job->runs++;
	if (g->logged < ITEMS)
		g->log[g->logged++] = job->name;
	if (++g->running[job->kind] > g->most[job->kind])
		g->most[job->kind] = g->running[job->kind];
	pthread_cond_broadcast(&g->changed);
	while (!g->open[job->kind])
		pthread_cond_wait(&g->changed, &g->lock);
	if (job->then)
		work_add(g->work, &job->then->item);
	g->running[job->kind]--;
	g->done++;
	pthread_cond_broadcast(&g->changed);
}

static struct work_item *job_find(void *context)
{
	struct ground *g = context;
	struct job *job;

	SCOPE_LOCK(&g->lock);
	g->finds++;
	g->finding++;
	pthread_cond_broadcast(&g->changed);
	while (g->finding_held)
		pthread_cond_wait(&g->changed, &g->lock);
	g->finding--;
	if (g->later) {
		work_look_after(g->work, g->later);
		g->later = 0;
		return NULL;
	}
	job = g->running[FOUND] < g->depth ? g->first : NULL;
	if (!job)
		return NULL;
	g->first = job->findable;
	if (!g->first)
		g->last = &g->first;
	return &job->item;
}

static const struct work_ops job_ops = {.perform = job_run, .find = job_find};

static void ground_init(struct ground *g, unsigned threads)
{
	*g = (struct ground){.depth = ITEMS};
	g->last = &g->first;
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->changed, NULL);
	assert_int_equal(work_new(threads, &job_ops, g, &g->work), 0);
}

static void ground_start(struct ground *g, unsigned threads)
{
	ground_init(g, threads);
	assert_int_equal(work_start(g->work), 0);
}

static void ground_release(struct ground *g)
{
	work_free(steal_ptr(&g->work));
	pthread_cond_destroy(&g->changed);
	pthread_mutex_destroy(&g->lock);
}

static void ground_stop(struct ground *g)
{
	work_stop(g->work);
	ground_release(g);
}

static void ground_end(struct ground *g)
{
	if (g->work)
		ground_stop(g);
}

FIXTURE(g, struct ground, (void), ground_end);

static void open_gate(struct ground *g, enum kind kind)
{
	SCOPE_LOCK(&g->lock);
	g->open[kind] = true;
	pthread_cond_broadcast(&g->changed);
}

static void open_gates(struct ground *g)
{
	open_gate(g, WANTED);
	open_gate(g, FOUND);
}

static void hold_finding(struct ground *g, bool held)
{
	SCOPE_LOCK(&g->lock);
	g->finding_held = held;
	pthread_cond_broadcast(&g->changed);
}

/* The lock must be held. */
static void wait_until(struct ground *g, const unsigned *what, unsigned count)
{
	while (*what < count)
		pthread_cond_wait(&g->changed, &g->lock);
}

static void wait_running(struct ground *g, enum kind kind, unsigned count)
{
	SCOPE_LOCK(&g->lock);
	wait_until(g, &g->running[kind], count);
}

static void wait_finding(struct ground *g, unsigned count)
{
	SCOPE_LOCK(&g->lock);
	wait_until(g, &g->finding, count);
}

static void wait_finds(struct ground *g, unsigned count)
{
	SCOPE_LOCK(&g->lock);
	wait_until(g, &g->finds, count);
}

static void wait_done(struct ground *g, unsigned count)
{
	SCOPE_LOCK(&g->lock);
	wait_until(g, &g->done, count);
}

static unsigned finds(struct ground *g)
{
	SCOPE_LOCK(&g->lock);
	return g->finds;
}

static void queue(struct ground *g, struct job *job, char name)
{
	*job = (struct job){.kind = WANTED, .name = name};
	work_add(g->work, &job->item);
}

/* Something that can be found, once somebody looks. */
static void hide(struct ground *g, struct job *job, char name)
{
	*job = (struct job){.kind = FOUND, .name = name};
	SCOPE_LOCK(&g->lock);
	*g->last = job;
	g->last = &job->findable;
}

/* --- life ------------------------------------------------------------------------------------ */

TEST_OF(g, work_that_never_started_can_be_freed)
{
	ground_init(g, 4);
	work_free(NULL);
}

TEST_OF(g, threads_that_have_nothing_to_do_can_be_stopped)
{
	ground_start(g, 4);
}

TEST_OF(g, what_was_queued_before_the_start_is_done)
{
	struct job job;

	ground_init(g, 1);
	open_gates(g);
	queue(g, &job, 'w');
	assert_int_equal(work_start(g->work), 0);
	wait_done(g, 1);
}

TEST_OF(g, what_could_be_found_before_the_start_is_found)
{
	struct job job;

	ground_init(g, 1);
	open_gates(g);
	hide(g, &job, 'f');
	work_look(g->work);
	assert_int_equal(work_start(g->work), 0);
	wait_done(g, 1);
}

TEST_OF(g, what_is_queued_is_done_in_order)
{
	struct job jobs[5];

	ground_start(g, 1);
	for (unsigned i = 0; i < 5; i++)
		queue(g, &jobs[i], (char)('0' + i));
	open_gates(g);
	wait_done(g, 5);
	assert_string_equal(g->log, "01234");
}

/* --- finding --------------------------------------------------------------------------------- */

TEST_OF(g, nobody_looks_before_being_told_to)
{
	struct job jobs[10], hidden;

	ground_start(g, 3);
	open_gates(g);
	hide(g, &hidden, 'f');
	for (unsigned i = 0; i < 10; i++)
		queue(g, &jobs[i], 'w');
	wait_done(g, 10);
	work_stop(g->work);
	assert_int_equal(g->finds, 0);
	assert_int_equal(hidden.runs, 0);
}

TEST_OF(g, one_look_finds_all_there_is)
{
	struct job jobs[5];

	ground_start(g, 1);
	open_gates(g);
	for (unsigned i = 0; i < 5; i++)
		hide(g, &jobs[i], (char)('a' + i));
	work_look(g->work);
	wait_done(g, 5);
	work_stop(g->work);
	assert_string_equal(g->log, "abcde");
	assert_in_range(g->finds, 5, 6); /* the last in vain, or not for the stop */
}

TEST_OF(g, whoever_found_nothing_looks_again_only_when_told)
{
	struct job jobs[10], hidden;
	unsigned before;

	ground_start(g, 1);
	open_gates(g);
	hold_finding(g, true);
	work_look(g->work);
	wait_finding(g, 1);
	hold_finding(g, false);
	for (unsigned i = 0; i < 10; i++)
		queue(g, &jobs[i], 'w');
	wait_done(g, 10);
	before = finds(g);
	assert_int_equal(before, 1);
	hide(g, &hidden, 'f');
	work_look(g->work);
	wait_done(g, 11);
}

TEST_OF(g, what_may_be_found_later_is_looked_for_then)
{
	struct job hidden;

	ground_start(g, 3);
	open_gates(g);
	hide(g, &hidden, 'f');
	g->later = 1000 * 1000;
	work_look(g->work);
	wait_done(g, 1);
	work_stop(g->work);
	assert_in_range(g->finds, 2, 4); /* also for what there may be beside and after it */
}

/* The one that looks must look once more, as it may have looked too early. */
TEST_OF(g, a_look_while_somebody_looks_is_not_lost)
{
	ground_start(g, 1);
	hold_finding(g, true);
	work_look(g->work);
	wait_finding(g, 1);
	work_look(g->work);
	hold_finding(g, false);
	wait_finds(g, 2);
	work_stop(g->work);
	assert_int_equal(g->finds, 2);
}

TEST_OF(g, what_is_wanted_goes_before_what_can_be_found)
{
	struct job jobs[10];

	ground_start(g, 1);
	queue(g, &jobs[0], '0');
	wait_running(g, WANTED, 1); /* holds the only thread */
	for (unsigned i = 0; i < 3; i++)
		hide(g, &jobs[1 + i], (char)('a' + i));
	work_look(g->work);
	for (unsigned i = 0; i < 6; i++)
		queue(g, &jobs[4 + i], (char)('1' + i));
	open_gates(g);
	wait_done(g, 10);
	assert_string_equal(g->log, "0123456abc");
}

TEST_OF(g, what_is_wanted_meanwhile_goes_before_the_next_to_be_found)
{
	struct job found[2], wanted;

	ground_start(g, 1);
	hide(g, &found[0], 'a');
	hide(g, &found[1], 'b');
	work_look(g->work);
	wait_running(g, FOUND, 1);
	queue(g, &wanted, 'w');
	open_gates(g);
	wait_done(g, 3);
	assert_string_equal(g->log, "awb");
}

TEST_OF(g, one_look_sets_all_threads_to_work)
{
	struct job jobs[4];

	ground_start(g, 4);
	for (unsigned i = 0; i < 4; i++)
		hide(g, &jobs[i], 'f');
	work_look(g->work);
	wait_running(g, FOUND, 4); /* would hang, if one had to end before the next begins */
	open_gates(g);
	wait_done(g, 4);
}

TEST_OF(g, what_is_found_leaves_the_other_threads_to_what_is_wanted)
{
	struct job found[2], wanted[10];

	ground_start(g, 3);
	g->depth = 2;
	for (unsigned i = 0; i < 2; i++)
		hide(g, &found[i], 'f');
	work_look(g->work);
	wait_running(g, FOUND, 2);
	open_gate(g, WANTED);
	for (unsigned i = 0; i < 10; i++)
		queue(g, &wanted[i], 'w');
	wait_done(g, 10);
	open_gate(g, FOUND);
	wait_done(g, 12);
}

/* As many as may run are running; each that ends makes way for another. */
TEST(what_had_to_wait_for_its_turn_is_not_forgotten)
{
	static struct job jobs[300];

	for (unsigned depth = 1; depth <= 3; depth++) {
		struct ground g;

		ground_start(&g, 4);
		g.depth = depth;
		for (unsigned i = 0; i < 300; i++)
			hide(&g, &jobs[i], 'f');
		work_look(g.work);
		wait_running(&g, FOUND, depth > 1 ? 2 : 1);
		open_gates(&g);
		wait_done(&g, 300);
		ground_stop(&g);
	}
}

/* --- stopping -------------------------------------------------------------------------------- */

TEST_OF(g, stopping_finishes_all_that_is_queued)
{
	static struct job jobs[ITEMS];

	ground_init(g, 4);
	open_gates(g);
	for (unsigned i = 0; i < ITEMS; i++)
		queue(g, &jobs[i], 'x');
	assert_int_equal(work_start(g->work), 0);
	work_stop(g->work);
	assert_int_equal(g->done, ITEMS);
	for (unsigned i = 0; i < ITEMS; i++)
		assert_int_equal(jobs[i].runs, 1);
}

/* As fills do that make room for the starved. */
TEST_OF(g, what_jobs_queue_while_stopping_is_done)
{
	enum { CHAIN = 500 };
	static struct job jobs[2 * CHAIN];

	ground_init(g, 4);
	open_gates(g);
	for (unsigned i = 0; i < 2 * CHAIN; i++)
		jobs[i] = (struct job){.then = i + 2 < 2 * CHAIN ? &jobs[i + 2] : NULL};
	work_add(g->work, &jobs[0].item);
	work_add(g->work, &jobs[1].item);
	assert_int_equal(work_start(g->work), 0);
	work_stop(g->work);
	assert_int_equal(g->done, 2 * CHAIN);
}

static void *stop(void *arg)
{
	work_stop(arg);
	return NULL;
}

/* Whatever was found is run: it holds memory. What it queues is done as well. */
TEST(what_is_found_while_stopping_is_run)
{
	static struct job jobs[2], wanted;

	for (int i = 0; i < 200; i++) {
		struct ground g;
		pthread_t stopper;

		ground_start(&g, 2);
		open_gates(&g);
		hold_finding(&g, true);
		hide(&g, &jobs[0], 'f');
		wanted = (struct job){.kind = WANTED, .name = 'w'};
		jobs[0].then = &wanted;
		work_look(g.work);
		wait_finding(&g, 1);
		assert_int_equal(pthread_create(&stopper, NULL, stop, g.work), 0);
		hold_finding(&g, false);
		pthread_join(stopper, NULL);
		assert_int_equal(jobs[0].runs, 1);
		assert_int_equal(wanted.runs, 1);
		ground_release(&g);
	}
}

/* As reads do that other threads end. */
TEST_OF(g, stopping_waits_for_what_is_expected)
{
	static struct job expected, then;

	for (int i = 0; i < 200; i++) {
		pthread_t stopper;

		ground_start(g, 3);
		open_gates(g);
		then = (struct job){.kind = WANTED};
		expected = (struct job){.kind = WANTED, .then = &then};
		work_expect(g->work);
		assert_int_equal(pthread_create(&stopper, NULL, stop, g->work), 0);
		work_arrived(g->work, &expected.item);
		pthread_join(stopper, NULL);
		assert_int_equal(expected.runs, 1);
		assert_int_equal(then.runs, 1);
		ground_release(g);
	}
}

/* Whether what could still be found was left alone: stopping begins while another one runs, if
 * the stopper comes soon enough. */
static bool is_left_alone(unsigned wait_us)
{
	struct ground g;
	struct job first, second;
	pthread_t stopper;

	ground_start(&g, 1);
	hide(&g, &first, 'a');
	hide(&g, &second, 'b');
	work_look(g.work);
	wait_running(&g, FOUND, 1);
	assert_int_equal(pthread_create(&stopper, NULL, stop, g.work), 0);
	usleep(wait_us);
	open_gates(&g);
	pthread_join(stopper, NULL);
	ground_release(&g);
	assert_int_equal(first.runs, 1);
	return second.runs == 0;
}

TEST(nobody_looks_while_stopping)
{
	unsigned wait_us = 1;

	while (!is_left_alone(wait_us)) {
		wait_us *= 2;
		assert_true(wait_us < 10000000);
	}
}

/* --- no wakeup is lost ----------------------------------------------------------------------- */

/* All threads asleep, or about to be: each time something to do must wake one. */
TEST_OF(g, one_at_a_time_is_never_overslept)
{
	enum { ROUNDS = 3000 };
	struct job job;

	ground_start(g, 3);
	open_gates(g);
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (i % 2) {
			hide(g, &job, 'f');
			work_look(g->work);
		} else {
			queue(g, &job, 'w');
		}
		wait_done(g, i + 1);
		assert_int_equal(job.runs, 1);
	}
}

TEST_OF(g, one_wanted_and_one_to_be_found_at_a_time_are_never_overslept)
{
	enum { ROUNDS = 2000 };
	struct job wanted, found;

	ground_start(g, 2);
	open_gates(g);
	for (unsigned i = 0; i < ROUNDS; i++) {
		hide(g, &found, 'f');
		work_look(g->work);
		queue(g, &wanted, 'w');
		wait_done(g, 2 * (i + 1));
	}
}

enum { PRODUCERS = 8, EACH = 500 };

struct producer {
	struct ground *ground;
	struct job jobs[EACH];
};

static void *produce(void *arg)
{
	struct producer *p = arg;

	for (unsigned i = 0; i < EACH; i++) {
		if (i % 2) {
			hide(p->ground, &p->jobs[i], 'p');
			work_look(p->ground->work);
		} else {
			queue(p->ground, &p->jobs[i], 'p');
		}
	}
	return NULL;
}

TEST_OF(g, every_item_of_many_producers_runs_once)
{
	static struct producer producers[PRODUCERS];
	pthread_t ids[PRODUCERS];

	ground_start(g, 6);
	open_gates(g);
	for (int i = 0; i < PRODUCERS; i++) {
		producers[i].ground = g;
		assert_int_equal(pthread_create(&ids[i], NULL, produce, &producers[i]), 0);
	}
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(ids[i], NULL);
	wait_done(g, PRODUCERS * EACH); /* without a stop to wake the threads */
	work_stop(g->work);
	for (int i = 0; i < PRODUCERS; i++)
		for (unsigned j = 0; j < EACH; j++)
			assert_int_equal(producers[i].jobs[j].runs, 1);
}

int main(void)
{
	alarm(HANG_SECONDS);
	return test_run(NULL, NULL);
}
