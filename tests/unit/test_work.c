/* The queue of work and its threads: cache/work.h. Items wait at a gate, so that who runs when
 * is the test's decision and never the clock's. */
#include "base/scope.h"
#include "cache/work.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ITEMS 1000

/* What the items of one test share. */
struct ground {
	struct work *work;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool open[WORK_CLASSES]; /* items of that class may pass */
	unsigned running[WORK_CLASSES], most[WORK_CLASSES];
	unsigned done;
	char log[ITEMS + 1]; /* names, in the order in which the items began */
	unsigned logged;
};

struct job {
	struct work_item item; /* first */
	enum work_class class;
	char name;
	unsigned runs;
	struct job *then; /* queued by this one while it runs */
};

static void job_run(void *context, struct work_item *item)
{
	struct ground *g = context;
	struct job *job = (struct job *)(void *)item;

	SCOPE_LOCK(&g->lock);
	job->runs++;
	if (g->logged < ITEMS)
		g->log[g->logged++] = job->name;
	if (++g->running[job->class] > g->most[job->class])
		g->most[job->class] = g->running[job->class];
	pthread_cond_broadcast(&g->changed);
	while (!g->open[job->class])
		pthread_cond_wait(&g->changed, &g->lock);
	if (job->then)
		work_add(g->work, job->then->class, &job->then->item);
	g->running[job->class]--;
	g->done++;
	pthread_cond_broadcast(&g->changed);
}

static void ground_init(struct ground *g, unsigned threads)
{
	*g = (struct ground){0};
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->changed, NULL);
	assert_int_equal(work_new(threads, job_run, g, &g->work), 0);
}

static void ground_release(struct ground *g)
{
	work_free(g->work);
	pthread_cond_destroy(&g->changed);
	pthread_mutex_destroy(&g->lock);
}

static void open_gate(struct ground *g, enum work_class class)
{
	SCOPE_LOCK(&g->lock);
	g->open[class] = true;
	pthread_cond_broadcast(&g->changed);
}

static void wait_running(struct ground *g, enum work_class class, unsigned count)
{
	SCOPE_LOCK(&g->lock);
	while (g->running[class] < count)
		pthread_cond_wait(&g->changed, &g->lock);
}

static void wait_done(struct ground *g, unsigned count)
{
	SCOPE_LOCK(&g->lock);
	while (g->done < count)
		pthread_cond_wait(&g->changed, &g->lock);
}

static void queue(struct ground *g, struct job *job, enum work_class class, char name)
{
	*job = (struct job){.class = class, .name = name};
	work_add(g->work, class, &job->item);
}

static void work_that_never_started_can_be_freed(void **state)
{
	struct ground g;

	(void)state;
	ground_init(&g, 4);
	ground_release(&g);
	work_free(NULL);
}

static void threads_that_have_nothing_to_do_can_be_stopped(void **state)
{
	struct ground g;

	(void)state;
	ground_init(&g, 4);
	assert_int_equal(work_start(g.work), 0);
	work_stop(g.work);
	ground_release(&g);
}

static void what_was_queued_before_the_start_is_done(void **state)
{
	struct ground g;
	struct job job;

	(void)state;
	ground_init(&g, 1);
	open_gate(&g, WORK_WANTED);
	queue(&g, &job, WORK_WANTED, 'w');
	assert_int_equal(work_start(g.work), 0);
	wait_done(&g, 1);
	work_stop(g.work);
	ground_release(&g);
}

static void what_is_wanted_goes_before_what_is_read_ahead(void **state)
{
	static const char order[] = "0112233abc";
	struct ground g;
	struct job jobs[10];

	(void)state;
	ground_init(&g, 1);
	assert_int_equal(work_start(g.work), 0);
	queue(&g, &jobs[0], WORK_WANTED, '0');
	wait_running(&g, WORK_WANTED, 1); /* holds the only thread */
	for (unsigned i = 0; i < 3; i++)
		queue(&g, &jobs[1 + i], WORK_AHEAD, (char)('a' + i));
	for (unsigned i = 0; i < 6; i++)
		queue(&g, &jobs[4 + i], WORK_WANTED, (char)('1' + i / 2));
	open_gate(&g, WORK_AHEAD);
	open_gate(&g, WORK_WANTED);
	work_stop(g.work);
	assert_string_equal(g.log, order);
	ground_release(&g);
}

static void reading_ahead_takes_at_most_half_of_the_threads(void **state)
{
	struct ground g;
	struct job ahead[10], wanted[2];

	(void)state;
	ground_init(&g, 4);
	assert_int_equal(work_start(g.work), 0);
	for (unsigned i = 0; i < 10; i++)
		queue(&g, &ahead[i], WORK_AHEAD, 'a');
	wait_running(&g, WORK_AHEAD, 2);
	queue(&g, &wanted[0], WORK_WANTED, 'w');
	queue(&g, &wanted[1], WORK_WANTED, 'w');
	wait_running(&g, WORK_WANTED, 2); /* would hang, were all threads reading ahead */
	open_gate(&g, WORK_WANTED);
	wait_done(&g, 2);
	open_gate(&g, WORK_AHEAD);
	wait_done(&g, 12);
	assert_int_equal(g.most[WORK_AHEAD], 2);
	work_stop(g.work);
	ground_release(&g);
}

static void a_single_thread_reads_ahead_too(void **state)
{
	struct ground g;
	struct job jobs[3];

	(void)state;
	ground_init(&g, 1);
	open_gate(&g, WORK_AHEAD);
	assert_int_equal(work_start(g.work), 0);
	for (unsigned i = 0; i < 3; i++)
		queue(&g, &jobs[i], WORK_AHEAD, 'a');
	wait_done(&g, 3);
	work_stop(g.work);
	ground_release(&g);
}

/* A thread that reads ahead ends while others, which may not, sleep: the next item is not
 * forgotten. */
static void what_had_to_wait_for_its_class_is_not_forgotten(void **state)
{
	struct ground g;
	struct job jobs[100];

	(void)state;
	ground_init(&g, 3);
	assert_int_equal(work_start(g.work), 0);
	for (unsigned i = 0; i < 100; i++)
		queue(&g, &jobs[i], WORK_AHEAD, 'a');
	wait_running(&g, WORK_AHEAD, 1);
	open_gate(&g, WORK_AHEAD);
	wait_done(&g, 100);
	assert_int_equal(g.most[WORK_AHEAD], 1);
	work_stop(g.work);
	ground_release(&g);
}

static void stopping_finishes_all_that_is_queued(void **state)
{
	static struct job jobs[ITEMS];
	struct ground g;

	(void)state;
	ground_init(&g, 4);
	open_gate(&g, WORK_WANTED);
	open_gate(&g, WORK_AHEAD);
	for (unsigned i = 0; i < ITEMS; i++)
		queue(&g, &jobs[i], i % 3 ? WORK_WANTED : WORK_AHEAD, 'x');
	assert_int_equal(work_start(g.work), 0);
	work_stop(g.work);
	assert_int_equal(g.done, ITEMS);
	for (unsigned i = 0; i < ITEMS; i++)
		assert_int_equal(jobs[i].runs, 1);
	ground_release(&g);
}

/* As fills do that make room for the starved. */
static void what_items_queue_while_stopping_is_done(void **state)
{
	enum { CHAIN = 500 };
	static struct job jobs[2 * CHAIN];
	struct ground g;

	(void)state;
	ground_init(&g, 4);
	open_gate(&g, WORK_WANTED);
	open_gate(&g, WORK_AHEAD);
	for (unsigned i = 0; i < 2 * CHAIN; i++)
		jobs[i] = (struct job){.class = (i / 2) % 2 ? WORK_AHEAD : WORK_WANTED,
				       .then = i + 2 < 2 * CHAIN ? &jobs[i + 2] : NULL};
	work_add(g.work, jobs[0].class, &jobs[0].item);
	work_add(g.work, jobs[1].class, &jobs[1].item);
	assert_int_equal(work_start(g.work), 0);
	work_stop(g.work);
	assert_int_equal(g.done, 2 * CHAIN);
	ground_release(&g);
}

/* --- many producers ------------------------------------------------------------------------- */

enum { PRODUCERS = 8, EACH = 500 };

struct producer {
	struct ground *ground;
	struct job jobs[EACH];
};

static void *produce(void *arg)
{
	struct producer *p = arg;

	for (unsigned i = 0; i < EACH; i++)
		queue(p->ground, &p->jobs[i], i % 2 ? WORK_AHEAD : WORK_WANTED, 'p');
	return NULL;
}

static void every_item_of_many_producers_runs_once(void **state)
{
	static struct producer producers[PRODUCERS];
	pthread_t ids[PRODUCERS];
	struct ground g;

	(void)state;
	ground_init(&g, 6);
	open_gate(&g, WORK_WANTED);
	open_gate(&g, WORK_AHEAD);
	assert_int_equal(work_start(g.work), 0);
	for (int i = 0; i < PRODUCERS; i++) {
		producers[i].ground = &g;
		assert_int_equal(pthread_create(&ids[i], NULL, produce, &producers[i]), 0);
	}
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(ids[i], NULL);
	wait_done(&g, PRODUCERS * EACH); /* without a stop to wake the threads */
	work_stop(g.work);
	for (int i = 0; i < PRODUCERS; i++)
		for (unsigned j = 0; j < EACH; j++)
			assert_int_equal(producers[i].jobs[j].runs, 1);
	assert_true(g.most[WORK_AHEAD] <= 3);
	ground_release(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_that_never_started_can_be_freed),
		cmocka_unit_test(threads_that_have_nothing_to_do_can_be_stopped),
		cmocka_unit_test(what_was_queued_before_the_start_is_done),
		cmocka_unit_test(what_is_wanted_goes_before_what_is_read_ahead),
		cmocka_unit_test(reading_ahead_takes_at_most_half_of_the_threads),
		cmocka_unit_test(a_single_thread_reads_ahead_too),
		cmocka_unit_test(what_had_to_wait_for_its_class_is_not_forgotten),
		cmocka_unit_test(stopping_finishes_all_that_is_queued),
		cmocka_unit_test(what_items_queue_while_stopping_is_done),
		cmocka_unit_test(every_item_of_many_producers_runs_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
