/* The queue of work and its threads: cache/work.h. Jobs wait at a gate, so that who runs when is
 * the test's decision and never the clock's. Most tests are stories, in which a job is a letter:
 *
 *	start N, new N .. begin		with so many threads
 *	queue abc, hide abc		jobs that are wanted, or found by who looks; "f*9" are nine
 *	queue_chain abc, hide_chain abc	each queues the next one while it runs
 *	expect abc .. arrive		a chain that is under way elsewhere
 *	look
 *	open, open_wanted, open_found	jobs may pass the gate
 *	hold .. let			who looks is held
 *	depth N				so many found jobs may run at once
 *	later				whoever looks next is too early
 *	wanted N, found N, finding N, finds N	waits until so many run, look or have looked
 *	done N				waits until so many have run, and no more
 *	stop; stopper .. stopped	by another thread
 *	log abc				the order in which they began
 *
 * In the end, each that was queued has run once. */
#define TEST_MAIN
#include "base/scope.h"
#include "cache/work.h"
#include "tests/unit/story.h"
#include <unistd.h>

#define ITEMS	     4000
#define HANG_SECONDS 300 /* a wakeup that is lost would be waited for for ever */
#define SOON_NS	     1000000

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
	bool later;		   /* the next call of find has only another one after SOON_NS */
	unsigned depth;		   /* of found jobs at once */
	struct job *first, **last; /* to be found */
	unsigned running[KINDS];
	unsigned done;
	char log[ITEMS + 1]; /* names, in the order in which the jobs began */
	unsigned logged;
	struct job jobs[ITEMS];
	unsigned count;
	struct job *expected;
	pthread_t stopper;
};

static struct ground *ground; /* of the story under way */

static void job_run(void *context, struct work_item *item)
{
	struct ground *g = context;
	struct job *job = (struct job *)(void *)item;

	SCOPE_LOCK(&g->lock);
	job->runs++;
	if (g->logged < ITEMS)
		g->log[g->logged++] = job->name;
	g->running[job->kind]++;
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
		work_look_after(g->work, SOON_NS);
		g->later = false;
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

static void ground_init(struct ground *g)
{
	ground = g;
	*g = (struct ground){.depth = ITEMS};
	g->last = &g->first;
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->changed, NULL);
}

static void ground_release(struct ground *g)
{
	if (g->work)
		work_stop(g->work);
	work_free(g->work);
	for (unsigned i = 0; i < g->count; i++)
		assert_in_range(g->jobs[i].runs, g->jobs[i].kind == WANTED, 1);
	pthread_cond_destroy(&g->changed);
	pthread_mutex_destroy(&g->lock);
}

FIXTURE(g, struct ground, ground_init, ground_release);

static void set(struct ground *g, bool *what, bool value)
{
	SCOPE_LOCK(&g->lock);
	*what = value;
	pthread_cond_broadcast(&g->changed);
}

/* Returns what it is then. */
static unsigned wait_until(struct ground *g, const unsigned *what, uint64_t count)
{
	SCOPE_LOCK(&g->lock);
	while (*what < count)
		pthread_cond_wait(&g->changed, &g->lock);
	return *what;
}

static struct job *make_job(struct ground *g, enum kind kind, char name)
{
	assert_true(g->count < ITEMS);
	g->jobs[g->count] = (struct job){.kind = kind, .name = name};
	return &g->jobs[g->count++];
}

static void queue(struct ground *g, struct job *job)
{
	work_add(g->work, &job->item);
}

/* Something that can be found, once somebody looks. */
static void hide(struct ground *g, struct job *job)
{
	SCOPE_LOCK(&g->lock);
	*g->last = job;
	g->last = &job->findable;
}

static void *stop(void *arg)
{
	work_stop(arg);
	return NULL;
}

/* --- words ----------------------------------------------------------------------------------- */

/* The jobs of a word: all are given to `give`, or as a chain, which begins with one of this kind,
 * only the first one. Returns that. */
static struct job *add_jobs(const char *text, enum kind kind, bool chain,
			    void give(struct ground *g, struct job *job))
{
	struct job *first = NULL, *last = NULL;
	const char *star = strchr(text, '*');
	unsigned long times = star ? strtoul(star + 1, NULL, 10) : 1;

	for (const char *name = text; *name && name != star; name++)
		for (unsigned long i = 0; i < times; i++) {
			struct job *job = make_job(ground, chain && first ? WANTED : kind, *name);

			if (chain && last)
				last->then = job;
			else if (!chain)
				give(ground, job);
			first = first ? first : job;
			last = job;
		}
	if (chain && give)
		give(ground, first);
	return first;
}

TELL(queue)
{
	add_jobs(text, WANTED, false, queue);
}

TELL(queue_chain)
{
	add_jobs(text, WANTED, true, queue);
}

TELL(hide)
{
	add_jobs(text, FOUND, false, hide);
}

TELL(hide_chain)
{
	add_jobs(text, FOUND, true, hide);
}

TELL(expect)
{
	work_expect(ground->work);
	ground->expected = add_jobs(text, WANTED, true, NULL);
}

TELL(log)
{
	assert_string_equal(ground->log, text);
}

DOES(arrive, work_arrived(ground->work, &ground->expected->item))
DOES(new, assert_int_equal(work_new((unsigned)n[0], &job_ops, ground, &ground->work), 0))
DOES(begin, assert_int_equal(work_start(ground->work), 0))
DOES(stop, work_stop(ground->work))
DOES(stopper, assert_int_equal(pthread_create(&ground->stopper, NULL, stop, ground->work), 0))
DOES(stopped, pthread_join(ground->stopper, NULL))
DOES(look, work_look(ground->work))
DOES(open_wanted, set(ground, &ground->open[WANTED], true))
DOES(open_found, set(ground, &ground->open[FOUND], true))
DOES(hold, set(ground, &ground->finding_held, true))
DOES(let, set(ground, &ground->finding_held, false))
DOES(depth, ground->depth = (unsigned)n[0])
DOES(later, set(ground, &ground->later, true))
DOES(wanted, wait_until(ground, &ground->running[WANTED], n[0]))
DOES(found, wait_until(ground, &ground->running[FOUND], n[0]))
DOES(finding, wait_until(ground, &ground->finding, n[0]))
DOES(finds, wait_until(ground, &ground->finds, n[0]))
DOES(done, assert_int_equal(wait_until(ground, &ground->done, n[0]), n[0]))
GET(looks, wait_until(ground, &ground->finds, 0))

DO(start)
{
	do_new(n);
	do_begin(n);
}

DO(open)
{
	do_open_wanted(n);
	do_open_found(n);
}

static void run_often(unsigned times, const char *text)
{
	static struct ground g;

	while (times--) {
		ground_init(&g);
		story_play(text);
		ground_release(&g);
	}
}

/* --- life ------------------------------------------------------------------------------------ */

STORY_OF(g, work_that_never_started_can_be_freed, "new 4")

STORY_OF(g, threads_that_have_nothing_to_do_can_be_stopped, "start 4; stop")

STORY_OF(g, what_was_queued_before_the_start_is_done, "new 1; open; queue w; begin; done 1")

STORY_OF(g, what_could_be_found_before_the_start_is_found,
	 "new 1; open; hide f; look; begin; done 1")

STORY_OF(g, what_is_queued_is_done_in_order, "start 1; queue 01234; open; done 5; log 01234")

/* --- finding --------------------------------------------------------------------------------- */

STORY_OF(g, nobody_looks_before_being_told_to,
	 "start 3; open; hide f; queue w*10; done 10; stop; looks = 0; log wwwwwwwwww")

/* The last look is in vain, or not made for the stop. */
STORY_OF(g, one_look_finds_all_there_is,
	 "start 1; open; hide abcde; look; done 5; stop; log abcde; looks >= 5; looks <= 6")

STORY_OF(g, whoever_found_nothing_looks_again_only_when_told,
	 "start 1; open; hold; look; finding 1; let; queue w*10; done 10; looks = 1; hide f; look; "
	 "done 11")

/* Also for what there may be beside and after it. */
STORY_OF(g, what_may_be_found_later_is_looked_for_then,
	 "start 3; open; hide f; later; look; done 1; stop; looks >= 2; looks <= 4")

/* The one that looks must look once more, as it may have looked too early. */
STORY_OF(g, a_look_while_somebody_looks_is_not_lost,
	 "start 1; hold; look; finding 1; look; let; finds 2; stop; looks = 2")

/* 0 holds the only thread. */
STORY_OF(g, what_is_wanted_goes_before_what_can_be_found,
	 "start 1; queue 0; wanted 1; hide abc; look; queue 123456; open; done 10; log 0123456abc")

STORY_OF(g, what_is_wanted_meanwhile_goes_before_the_next_to_be_found,
	 "start 1; hide ab; look; found 1; queue w; open; done 3; log awb")

/* It would hang, if one had to end before the next begins. */
STORY_OF(g, one_look_sets_all_threads_to_work, "start 4; hide f*4; look; found 4; open; done 4")

STORY_OF(g, what_is_found_leaves_the_other_threads_to_what_is_wanted,
	 "start 3; depth 2; hide ff; look; found 2; open_wanted; queue w*10; done 10; open_found; "
	 "done 12")

/* As many as may run are running; each that ends makes way for another. */
TEST(what_had_to_wait_for_its_turn_is_not_forgotten)
{
	run_often(1, "depth 1; start 4; hide f*300; look; found 1; open; done 300");
	run_often(1, "depth 2; start 4; hide f*300; look; found 2; open; done 300");
	run_often(1, "depth 3; start 4; hide f*300; look; found 2; open; done 300");
}

/* --- stopping -------------------------------------------------------------------------------- */

STORY_OF(g, stopping_finishes_all_that_is_queued,
	 "new 4; open; queue x*1000; begin; stop; done 1000")

/* As fills do that make room for the starved. */
STORY_OF(g, what_jobs_queue_while_stopping_is_done,
	 "new 4; open; queue_chain x*500; queue_chain y*500; begin; stop; done 1000")

/* Whatever was found is run: it holds memory. What it queues is done as well. */
TEST(what_is_found_while_stopping_is_run)
{
	run_often(200,
		  "start 2; open; hold; hide_chain fw; look; finding 1; stopper; let; stopped; "
		  "done 2");
}

/* As reads do that other threads end. */
TEST(stopping_waits_for_what_is_expected)
{
	run_often(200, "start 3; open; expect et; stopper; arrive; stopped; done 2");
}

/* Whether what could still be found was left alone: stopping begins while another one runs, if
 * the stopper comes soon enough. */
static bool is_left_alone(unsigned wait_us)
{
	static struct ground g;
	bool left;

	ground_init(&g);
	story_play("start 1; hide ab; look; found 1; stopper");
	usleep(wait_us);
	story_play("open; stopped");
	left = g.done == 1;
	ground_release(&g);
	return left;
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
	story_play("start 3; open");
	for (unsigned i = 0; i < 3000; i += 2) {
		story_play("queue w");
		wait_until(g, &g->done, i + 1);
		story_play("hide f; look");
		wait_until(g, &g->done, i + 2);
	}
}

TEST_OF(g, one_wanted_and_one_to_be_found_at_a_time_are_never_overslept)
{
	story_play("start 2; open");
	for (unsigned i = 0; i < 4000; i += 2) {
		story_play("hide f; look; queue w");
		wait_until(g, &g->done, i + 2);
	}
}

enum { PRODUCERS = 8, EACH = 500 };

struct producer {
	struct ground *ground;
	struct job *jobs; /* EACH */
	pthread_t id;
};

static void *produce(void *arg)
{
	struct producer *p = arg;

	for (unsigned i = 0; i < EACH; i++) {
		(p->jobs[i].kind == FOUND ? hide : queue)(p->ground, &p->jobs[i]);
		if (p->jobs[i].kind == FOUND)
			work_look(p->ground->work);
	}
	return NULL;
}

TEST_OF(g, every_item_of_many_producers_runs_once)
{
	struct producer producers[PRODUCERS];

	story_play("start 6; open");
	for (unsigned i = 0; i < PRODUCERS * EACH; i++)
		make_job(g, i % 2 ? FOUND : WANTED, 'p');
	for (unsigned i = 0; i < PRODUCERS; i++) {
		producers[i] = (struct producer){g, &g->jobs[i * EACH], 0};
		assert_int_equal(pthread_create(&producers[i].id, NULL, produce, &producers[i]), 0);
	}
	for (unsigned i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i].id, NULL);
	story_play("done 4000; stop"); /* without a stop to wake the threads */
	for (unsigned i = 0; i < g->count; i++)
		assert_int_equal(g->jobs[i].runs, 1);
}

int main(void)
{
	alarm(HANG_SECONDS);
	return test_run(NULL, NULL);
}
