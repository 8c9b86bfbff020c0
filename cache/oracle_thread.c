#include "cache/oracle_thread.h"
#include "base/clock.h"
#include "cache/cache_internal.h"
#include "cache/oracle_feed.h"
#include "cache/seed_search.h"
#include <stdio.h>

#define TICK_NS	    50000000u /* between two times that it takes what was seen */
#define ASLEEP	    40	      /* ticks without a turn, after which it sleeps */
#define ABANDONED   600	      /* the same, after which a search ends: half a minute */
#define WINDOW	    8	      /* ticks over which pace and misses are averaged */
#define PATIENCE    20	      /* ticks after readers began: what is read sooner needs no search */
#define MISSING	    50	      /* turns, of which one misses: reading ahead would pay */
#define SEARCH_RATE 40e6      /* seeds/s of a processor, about */

struct oracle_thread {
	struct oracle_feed feed;
	struct cache *cache;
	_Atomic uint64_t found_ns; /* what the order that was found last took to find */

	unsigned cpus;
	pthread_t id;
	bool started;
	atomic_bool stopping, searching;
	atomic_bool over; /* the query under way is */
	struct idle_work work;
	struct seed_search search;
	atomic_ullong searches; /* of all seeds, each of a list */

	/* The thread's own: */
	uint64_t ticked_ns;
	unsigned idle_ticks;	/* without a turn */
	unsigned ticks;		/* since readers began, up to PATIENCE */
	uint64_t turns, misses; /* at the last tick */
	double pace, missing;	/* turns and misses in a tick, averaged */
};

static bool query_is_over(void *context)
{
	const struct oracle_thread *thread = context;

	return atomic_load(&thread->over);
}

int oracle_thread_new(struct cache *cache, unsigned cpus, struct oracle_thread **ret)
{
	struct oracle_thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return -ENOMEM;
	thread->cache = cache;
	thread->cpus = cpus < SEED_SEARCH_THREADS ? cpus : SEED_SEARCH_THREADS;
	/* Numbers of files have 32 bits. */
	if (feed_init(&thread->feed, cache, cpus > 0 && cache->source.extents < ORDER_NONE) < 0) {
		free(thread);
		return -ENOMEM;
	}
	idle_work_init(&thread->work, IDLE_WORK_SAVED);
	seed_search_init(&thread->search, thread->cpus, query_is_over, thread);
	*ret = thread;
	return 0;
}

void oracle_thread_free(struct oracle_thread *thread)
{
	if (!thread)
		return;
	seed_search_release(&thread->search);
	feed_release(&thread->feed);
	free(thread);
}

struct oracle_feed *oracle_thread_feed(struct oracle_thread *thread)
{
	return &thread->feed;
}

/* --- queries --------------------------------------------------------------------------------- */

/* By a thread of its own. */
struct errand {
	struct oracle_thread *thread;
	struct query *query;
	bool searches; /* else it only makes what is known, perhaps beside a search */
	atomic_bool done;
};

static bool gives_way_or_is_over(void *context)
{
	struct oracle_thread *thread = context;

	idle_work_give(&thread->work, query_is_over, thread);
	return query_is_over(thread);
}

static unsigned search_hook(void *context, const struct seeds *seeds, uint64_t from, uint64_t to,
			    struct seeds_found *ret, unsigned most)
{
	struct oracle_thread *thread = context;
	unsigned count;

	atomic_store(&thread->search.part, 0);
	atomic_store(&thread->searching, to == SEEDS_ALL);
	atomic_fetch_add(&thread->searches, to == SEEDS_ALL);
	count = seed_search(&thread->search, &thread->work, seeds, from, to, ret, most);
	atomic_store(&thread->searching, false);
	return count;
}

static int lists(void *context, uint64_t file, oracle_list_fn *found, void *arg)
{
	const struct oracle_thread *thread = context;
	const struct cache_source *source = &thread->cache->source;

	return source->lists ? source->lists(source->context, file, found, arg) : 0;
}

static uint64_t kind(void *context, uint64_t file)
{
	const struct oracle_thread *thread = context;
	const struct cache_source *source = &thread->cache->source;

	return source->kind ? source->kind(source->context, file) : 0;
}

static void *query_thread(void *context)
{
	struct errand *errand = context;
	struct oracle_thread *thread = errand->thread;
	const struct oracle_hooks hooks = {
		.search = {.context = thread, .search = search_hook, .over = gives_way_or_is_over},
		.context = thread,
		.lists = lists,
		.kind = kind,
	};

	if (errand->searches)
		idle_work_begin(&thread->work);
	oracle_run(errand->query, &hooks);
	if (errand->searches)
		idle_work_end(&thread->work);
	atomic_store(&errand->done, true);
	SCOPE_LOCK(&thread->cache->lock);
	pthread_cond_signal(&thread->feed.wake);
	return NULL;
}

/* What is to end gets a processor, if this process may do that (idle_work.h). */
static void hurry(struct errand *errand, pthread_t id)
{
	const struct sched_param none = {0};

	pthread_setschedparam(id, SCHED_OTHER, &none);
	seed_search_hurry(&errand->thread->search);
}

/* --- how the readers go on ------------------------------------------------------------------- */

static void tick(struct oracle_thread *thread, uint64_t misses)
{
	uint64_t turns = oracle_turns(thread->feed.oracle);
	double weight = 1.0 / WINDOW;

	thread->idle_ticks = turns == thread->turns ? thread->idle_ticks + 1 : 0;
	if (turns > 0 && thread->ticks < PATIENCE)
		thread->ticks++;
	thread->pace += weight * ((double)(turns - thread->turns) - thread->pace);
	thread->missing += weight * ((double)(misses - thread->misses) - thread->missing);
	thread->turns = turns;
	thread->misses = misses;
}

/* Until somebody reads again. */
static void sleep_while_idle(struct oracle_thread *thread)
{
	if (thread->idle_ticks < ASLEEP)
		return;
	SCOPE_LOCK(&thread->cache->lock);
	thread->feed.asleep = thread->feed.seen.end == thread->feed.taken;
	while (thread->feed.asleep && !atomic_load(&thread->stopping))
		pthread_cond_wait(&thread->feed.wake, &thread->cache->lock);
	thread->idle_ticks = thread->ticks = 0;
}

/* Waits for events or for the next tick. */
static void wait_tick(struct oracle_thread *thread)
{
	const struct timespec until = clock_after(TICK_NS);
	uint64_t misses, now;

	pthread_mutex_lock(&thread->cache->lock);
	if (thread->feed.seen.end - thread->feed.taken < FEED_WAKE)
		pthread_cond_timedwait(&thread->feed.wake, &thread->cache->lock, &until);
	misses = thread->cache->served.misses;
	pthread_mutex_unlock(&thread->cache->lock);
	now = clock_ns();
	feed_listen(&thread->feed);
	if (now - thread->ticked_ns < TICK_NS)
		return;
	thread->ticked_ns = now;
	tick(thread, misses);
}

/* --- its thread ------------------------------------------------------------------------------ */

static struct effort effort_of(const struct oracle_thread *thread)
{
	double seconds = (double)SEEDS_ALL / SEARCH_RATE / (thread->cpus ? thread->cpus : 1);
	bool hard = thread->ticks == PATIENCE && thread->missing * MISSING > thread->pace;

	return (struct effort){
		.guess = thread->cpus > 0,
		.models = hard,
		.hard = hard,
		.least = thread->pace * (1e9 / (double)TICK_NS) * seconds / 4,
	};
}

/* Also where the mount ends, or readers have paused for long. */
static bool nobody_waits(struct oracle_thread *thread)
{
	SCOPE_LOCK(&thread->feed.lock);
	return atomic_load(&thread->stopping) || thread->idle_ticks > ABANDONED ||
	       oracle_is_over(thread->feed.oracle, atomic_load(&thread->searching));
}

static void make_next(struct oracle_thread *thread);

static void wait_for_query(struct oracle_thread *thread, struct errand *errand, pthread_t id)
{
	while (!atomic_load(&errand->done)) {
		wait_tick(thread);
		make_next(thread);
		if (nobody_waits(thread))
			atomic_store(&thread->over, true);
		if (query_is_over(thread))
			hurry(errand, id);
	}
	hurry(errand, id);
	pthread_join(id, NULL);
}

/* Takes the query back. Returns whether an order was found. */
static bool take_back(struct oracle_thread *thread, struct query *query, uint64_t took,
		      char sentence[ORACLE_SENTENCE])
{
	bool found;

	SCOPE_LOCK(&thread->feed.lock);
	found = oracle_answer(thread->feed.oracle, query, sentence);
	feed_show(&thread->feed);
	if (found)
		thread->found_ns = took;
	return found;
}

static bool do_query(struct oracle_thread *thread, struct query *query, bool searches,
		     char sentence[ORACLE_SENTENCE])
{
	struct errand errand = {.thread = thread, .query = query, .searches = searches};
	uint64_t began = clock_ns();
	bool made = false;
	pthread_t id;

	while (!atomic_load(&thread->stopping) &&
	       !(made = pthread_create(&id, NULL, query_thread, &errand) == 0))
		wait_tick(thread);
	if (made)
		wait_for_query(thread, &errand, id);
	return take_back(thread, query, clock_ns() - began, sentence);
}

/* The next epoch of a known order, beside another query. */
static void make_next(struct oracle_thread *thread)
{
	char sentence[ORACLE_SENTENCE];
	struct query *query;

	pthread_mutex_lock(&thread->feed.lock);
	query = oracle_ask_next(thread->feed.oracle);
	pthread_mutex_unlock(&thread->feed.lock);
	if (query)
		do_query(thread, query, false, sentence);
}

static void announce(struct oracle_thread *thread, const char *sentence)
{
	const struct cache_source *source = &thread->cache->source;
	char text[ORACLE_SENTENCE + 64];

	snprintf(text, sizeof(text), "the readers' order is known: %s, found in %.1f s", sentence,
		 (double)thread->found_ns / 1e9);
	if (source->locked)
		source->locked(source->context, text);
}

static struct query *ask(struct oracle_thread *thread)
{
	const struct effort effort = effort_of(thread);

	if (thread->idle_ticks > ABANDONED)
		return NULL;
	SCOPE_LOCK(&thread->feed.lock);
	return oracle_ask(thread->feed.oracle, &effort);
}

static void *oracle_loop(void *context)
{
	struct oracle_thread *thread = context;

	while (!atomic_load(&thread->stopping)) {
		char sentence[ORACLE_SENTENCE];
		struct query *query = ask(thread);

		if (!query) {
			sleep_while_idle(thread);
			wait_tick(thread);
			continue;
		}
		atomic_store(&thread->over, false);
		if (do_query(thread, query, true, sentence))
			announce(thread, sentence);
		work_look(thread->cache->work);
	}
	return NULL;
}

int oracle_thread_start(struct oracle_thread *thread)
{
	int r = pthread_create(&thread->id, NULL, oracle_loop, thread);

	thread->started = r == 0;
	return -r;
}

void oracle_thread_stop(struct oracle_thread *thread)
{
	if (!thread->started)
		return;
	atomic_store(&thread->stopping, true);
	pthread_mutex_lock(&thread->cache->lock);
	pthread_cond_signal(&thread->feed.wake);
	pthread_mutex_unlock(&thread->cache->lock);
	pthread_join(thread->id, NULL);
	thread->started = false;
}

/* --- stats ----------------------------------------------------------------------------------- */

static const char *state_of(const struct oracle_thread *thread, const struct oracle_state *state)
{
	if (state->tracks)
		return "locked";
	if (!thread->feed.watching)
		return "off";
	if (atomic_load(&thread->searching))
		return "searching";
	return atomic_load(&thread->searches) ? "none" : "watching";
}

static const char *why_of(const struct oracle_thread *thread, const struct oracle_state *state)
{
	static const char *const words[] = {
		[ORACLE_IDLE] = "idle",
		[ORACLE_TOO_FEW] = "too few files read",
		[ORACLE_PATH_ORDER] = "path order",
		[ORACLE_NO_NEED] = "search would not pay",
		[ORACLE_TOO_SHORT] = "list too short",
		[ORACLE_UNKNOWN] = "not a known order",
	};

	if (state->tracks || !thread->feed.watching)
		return "";
	if (atomic_load(&thread->searching))
		return "searching";
	/* A search is left out where too little was seen for it. */
	return words[state->why == ORACLE_UNKNOWN && !atomic_load(&thread->searches)
			     ? ORACLE_TOO_FEW
			     : state->why];
}

void oracle_thread_stats(struct oracle_thread *thread, struct cache_oracle *ret)
{
	const struct oracle_state *state = &thread->feed.shown;

	*ret = (struct cache_oracle){
		.state = state_of(thread, state),
		.seed = state->seed,
		.epoch = state->epoch,
		.position = state->position,
		.files = state->files,
		.why = why_of(thread, state),
		.search_part =
			atomic_load(&thread->searching) ? atomic_load(&thread->search.part) : 0,
		.full_search_s =
			thread->feed.watching ? (uint64_t)((double)SEEDS_ALL / SEARCH_RATE) : 0,
		.searches = atomic_load(&thread->searches),
		.search_ms = thread->found_ns / 1000000,
		.followed = state->under_way,
		.locks = state->locks,
		.unlocks = state->unlocks,
		.dropped = thread->feed.seen.dropped,
	};
	snprintf(ret->sampler, sizeof(ret->sampler), "%s", state->sampler);
	snprintf(ret->list, sizeof(ret->list), "%s", state->list);
}
