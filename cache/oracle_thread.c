#include "cache/oracle_thread.h"
#include "base/clock.h"
#include "base/math.h"
#include "cache/cache_internal.h"
#include "cache/order/oracle.h"
#include "cache/plan/plan_order.h"
#include "cache/seed_search.h"
#include <stdio.h>
#include <string.h>

#define LATE	    4096   /* files, by which it is judged how readers are seen */
#define CATCH_UP    32	   /* events that a forecast may lack when it is given */
#define BATCH	    256	   /* events that are taken over at once */
#define WAKE	    64	   /* events that are worth waking up for */
#define HIDDEN_STEP 65536u /* bytes of a set that are copied at once */

#define TICK_NS	    50000000u	 /* between two times that it takes what was seen */
#define PATIENCE_NS CLOCK_SECOND /* after readers began: what is read sooner needs no search */
#define ASLEEP	    40		 /* ticks without a turn, after which it sleeps */
#define ABANDONED   600		 /* the same, after which a search ends: half a minute */
#define WINDOW	    8		 /* ticks over which pace and misses are averaged */
#define SOON_NS	    CLOCK_SECOND /* of a processor: some queries for usual seeds */
#define MISSING	    50		 /* turns, of which one misses: reading ahead would pay */
#define BRIEF	    4		 /* seconds of an epoch that gains nothing by being known */
#define SEARCH_RATE 40e6	 /* seeds/s of a processor, about */

struct seen {
	uint32_t reader; /* 0: not known */
	uint32_t file;	 /* by its first extent */
	bool pushed;	 /* the kernel was given it before anybody asked */
};

struct oracle_thread {
	struct cache *cache;
	unsigned cpus;
	pthread_t id;
	bool started;
	atomic_bool stopping;
	atomic_bool over;	      /* the query under way is */
	atomic_bool searching;	      /* it is long */
	atomic_bool all_seeds;	      /* it is at these */
	struct idle_work soon, later; /* what queries that end soon may take, and others */
	struct idle_work *work;	      /* of the one under way */
	struct seed_search search;
	atomic_ullong searches;	   /* of all seeds, each of a list */
	_Atomic uint64_t found_ns; /* what the order that was found last took to find */

	/* Protected by the cache's lock: */
	uint64_t begin, end, dropped; /* events, numbered from 0: those in the ring; and lost */
	bool watching;		      /* there is something to be seen for */
	bool asleep;		      /* until something is seen */
	unsigned begun, opened;	      /* files of late that were seen by a READ; and else */
	pthread_cond_t wake;
	struct oracle_state shown;
	struct seen seen[ORACLE_SEEN];

	pthread_mutex_t lock;
	/* Protected by lock: */
	struct oracle *oracle;
	uint64_t taken; /* events that the oracle has */

	/* The thread's own: */
	uint64_t ticked_ns;
	uint64_t began_ns;	/* readers; 0: they have not */
	unsigned idle_ticks;	/* without a turn */
	uint64_t turns, misses; /* at the last tick */
	double pace, missing;	/* turns and misses in TICK_NS, averaged */
};

/* --- what is seen ---------------------------------------------------------------------------- */

static void note_seen(struct oracle_thread *thread, struct seen seen)
{
	if (thread->end - thread->begin == ORACLE_SEEN)
		thread->dropped++;
	else
		thread->seen[thread->end++ % ORACLE_SEEN] = seen;
	if (!thread->asleep && thread->end - thread->begin != WAKE)
		return;
	thread->asleep = false;
	pthread_cond_signal(&thread->wake);
}

void oracle_thread_saw(struct oracle_thread *thread, uint32_t reader, uint64_t file, bool opened)
{
	if (!thread->watching)
		return;
	thread->opened += opened;
	thread->begun += !opened;
	if (thread->opened + thread->begun == LATE) {
		thread->opened /= 2;
		thread->begun /= 2;
	}
	plan_order_saw(plan_known_orders(thread->cache->ahead.plan), file);
	note_seen(thread, (struct seen){.reader = reader, .file = (uint32_t)file});
}

void oracle_thread_pushed(struct oracle_thread *thread, uint64_t file)
{
	plan_order_pushed(plan_known_orders(thread->cache->ahead.plan), file);
	note_seen(thread, (struct seen){.file = (uint32_t)file, .pushed = true});
}

/* Copies events from number `from` on, at most BATCH, which stay in the ring. Returns how many. The
 * cache's lock is held. */
static unsigned read_seen(const struct oracle_thread *thread, uint64_t from, struct seen *ret)
{
	unsigned count = 0;

	for (; count < BATCH && from + count < thread->end; count++)
		ret[count] = thread->seen[(from + count) % ORACLE_SEEN];
	return count;
}

/* Notes the oracle's state for the stats. Its lock is held. */
static void show(struct oracle_thread *thread)
{
	struct oracle_state state;

	oracle_state(thread->oracle, &state);
	SCOPE_LOCK(&thread->cache->lock);
	thread->shown = state;
}

/* Tells the oracle all that was seen until now. */
static void listen_to_readers(struct oracle_thread *thread)
{
	struct cache *cache = thread->cache;
	struct seen seen[BATCH];
	unsigned count;

	SCOPE_LOCK(&thread->lock);
	do {
		pthread_mutex_lock(&cache->lock);
		thread->begin = thread->taken;
		count = read_seen(thread, thread->taken, seen);
		pthread_mutex_unlock(&cache->lock);
		for (unsigned i = 0; i < count; i++) {
			thread->taken++; /* before a forecast catches up from there */
			if (seen[i].pushed)
				oracle_pushed(thread->oracle, seen[i].file);
			else
				oracle_saw(thread->oracle, seen[i].reader, seen[i].file);
		}
	} while (count > 0);
	show(thread);
}

bool oracle_thread_expects(const struct oracle_thread *thread)
{
	return thread->watching && !thread->shown.unusual;
}

int oracle_thread_order(struct oracle_thread *thread, const uint32_t *files, uint32_t count)
{
	int r;

	SCOPE_LOCK(&thread->lock);
	r = oracle_order(thread->oracle, files, count);
	show(thread);
	SCOPE_LOCK(&thread->cache->lock);
	thread->watching = thread->watching || count > 0;
	return r;
}

/* --- what the planner is given --------------------------------------------------------------- */

/* Tells a copy what was seen since the oracle's was where it is, until hardly anything is left.
 * Returns with the cache's lock held. */
static void catch_up(struct oracle_thread *thread, struct forecast *forecast, uint64_t from)
{
	struct cache *cache = thread->cache;
	struct seen seen[BATCH];
	unsigned count;

	pthread_mutex_lock(&cache->lock);
	while ((count = read_seen(thread, from, seen)) > 0) {
		bool few = count <= CATCH_UP;

		if (!few)
			pthread_mutex_unlock(&cache->lock);
		for (unsigned i = 0; i < count; i++)
			if (seen[i].pushed)
				forecast_push(forecast, seen[i].file);
			else
				forecast_saw(forecast, seen[i].file);
		if (few)
			return;
		from += count;
		pthread_mutex_lock(&cache->lock);
	}
}

/* The planner's copy is made and caught up without the cache's lock, and only given under it. Its
 * lock is held, here and below. */
static void follow(void *context, const struct forecast *forecast)
{
	struct oracle_thread *thread = context;
	struct cache *cache = thread->cache;
	struct forecast *copy;

	if (forecast_copy(forecast, &copy) < 0)
		return;
	catch_up(thread, copy, thread->taken);
	if (plan_follow(cache->ahead.plan, forecast, copy) == 0)
		copy = NULL;
	pthread_mutex_unlock(&cache->lock);
	forecast_free(copy);
}

static void leave(void *context, const struct forecast *forecast)
{
	struct cache *cache = ((struct oracle_thread *)context)->cache;
	struct forecast *copy;

	pthread_mutex_lock(&cache->lock);
	copy = plan_leave(cache->ahead.plan, forecast);
	pthread_mutex_unlock(&cache->lock);
	forecast_free(copy);
}

/* Copies a part of what the kernel keeps. False: readers are seen although it keeps files. */
static bool copy_hidden(struct oracle_thread *thread, uint8_t *ret, size_t from, size_t bytes)
{
	struct cache *cache = thread->cache;
	const uint8_t *kept;

	SCOPE_LOCK(&cache->lock);
	kept = residency_kept(cache->residency);
	if (!kept || thread->opened >= thread->begun / 2)
		return false;
	memcpy(ret + from, kept + from, bytes);
	return true;
}

/* No READ comes for what the kernel keeps; but programs that ask of each file whether it is a
 * terminal are seen all the same. */
static uint8_t *hidden(void *context)
{
	struct oracle_thread *thread = context;
	size_t size = thread->cache->source.extents / 8 + 1;
	uint8_t *copy = malloc(size);

	for (size_t from = 0; copy && from < size; from += HIDDEN_STEP)
		if (!copy_hidden(thread, copy, from, min(HIDDEN_STEP, size - from))) {
			free(copy);
			return NULL;
		}
	return copy;
}

static bool query_is_over(void *context)
{
	const struct oracle_thread *thread = context;

	return atomic_load(&thread->over);
}

int oracle_thread_new(struct cache *cache, unsigned cpus, struct oracle_thread **ret)
{
	struct oracle_thread *thread = calloc(1, sizeof(*thread));
	const struct oracle_ops ops = {
		.context = thread, .follow = follow, .leave = leave, .hidden = hidden};

	if (!thread || oracle_new(cache->source.extents, &ops, &thread->oracle) < 0) {
		free(thread);
		return -ENOMEM;
	}
	thread->cache = cache;
	thread->ticked_ns = clock_ns();
	thread->cpus = cpus < SEED_SEARCH_THREADS ? cpus : SEED_SEARCH_THREADS;
	/* Numbers of files have 32 bits. */
	thread->watching = cpus > 0 && cache->source.extents < ORDER_NONE;
	pthread_mutex_init(&thread->lock, NULL);
	clock_cond_init(&thread->wake);
	idle_work_init(&thread->soon, SOON_NS, SOON_NS);
	idle_work_init(&thread->later, 0, IDLE_WORK_SAVED);
	thread->work = &thread->soon;
	seed_search_init(&thread->search, thread->cpus, query_is_over, thread);
	*ret = thread;
	return 0;
}

void oracle_thread_free(struct oracle_thread *thread)
{
	if (!thread)
		return;
	seed_search_release(&thread->search);
	oracle_free(thread->oracle);
	pthread_cond_destroy(&thread->wake);
	pthread_mutex_destroy(&thread->lock);
	free(thread);
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

	idle_work_give(thread->work, query_is_over, thread);
	return query_is_over(thread);
}

static unsigned search_hook(void *context, const struct seeds *seeds, uint64_t from, uint64_t to,
			    struct seeds_found *ret, unsigned most)
{
	struct oracle_thread *thread = context;
	unsigned count;

	atomic_store(&thread->search.part, 0);
	atomic_store(&thread->all_seeds, to == SEEDS_ALL);
	atomic_fetch_add(&thread->searches, to == SEEDS_ALL);
	count = seed_search(&thread->search, thread->work, seeds, from, to, ret, most);
	atomic_store(&thread->all_seeds, false);
	return count;
}

static void *query_thread(void *context)
{
	struct errand *errand = context;
	struct oracle_thread *thread = errand->thread;
	const struct cache_source *source = &thread->cache->source;
	const struct oracle_hooks hooks = {
		.search = {.context = thread, .search = search_hook, .over = gives_way_or_is_over},
		.context = source->context,
		.lists = source->ops->lists,
		.kind = source->ops->kind,
	};

	if (errand->searches) {
		bool is_long = query_is_long(errand->query);

		thread->work = is_long ? &thread->later : &thread->soon;
		atomic_store(&thread->searching, is_long);
		idle_work_begin(thread->work);
	}
	oracle_run(errand->query, &hooks);
	if (errand->searches) {
		idle_work_end(thread->work);
		atomic_store(&thread->searching, false);
	}
	atomic_store(&errand->done, true);
	SCOPE_LOCK(&thread->cache->lock);
	pthread_cond_signal(&thread->wake);
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

/* Until somebody reads again. */
static void sleep_while_idle(struct oracle_thread *thread)
{
	if (thread->idle_ticks < ASLEEP)
		return;
	SCOPE_LOCK(&thread->cache->lock);
	thread->asleep = thread->end == thread->taken;
	while (thread->asleep && !atomic_load(&thread->stopping))
		pthread_cond_wait(&thread->wake, &thread->cache->lock);
	thread->idle_ticks = 0;
	thread->began_ns = 0;
	thread->ticked_ns = clock_ns();
}

/* Waits for events or for the next tick. */
static void wait_tick(struct oracle_thread *thread)
{
	const struct timespec until = clock_after(TICK_NS);
	uint64_t misses, turns, now;
	double weight = 1.0 / WINDOW, ticks;

	pthread_mutex_lock(&thread->cache->lock);
	if (thread->end - thread->taken < WAKE)
		pthread_cond_timedwait(&thread->wake, &thread->cache->lock, &until);
	misses = thread->cache->served.misses;
	pthread_mutex_unlock(&thread->cache->lock);
	now = clock_ns();
	listen_to_readers(thread);
	if (now - thread->ticked_ns < TICK_NS)
		return;
	ticks = (double)(now - thread->ticked_ns) / TICK_NS; /* more where others compute */
	thread->ticked_ns = now;
	turns = oracle_turns(thread->oracle);
	thread->idle_ticks = turns == thread->turns ? thread->idle_ticks + 1 : 0;
	if (turns > 0 && thread->began_ns == 0)
		thread->began_ns = now;
	thread->pace += weight * ((double)(turns - thread->turns) / ticks - thread->pace);
	thread->missing += weight * ((double)(misses - thread->misses) / ticks - thread->missing);
	thread->turns = turns;
	thread->misses = misses;
}

/* --- its thread ------------------------------------------------------------------------------ */

/* Also where the mount ends, or readers have paused for long. */
static bool nobody_waits(struct oracle_thread *thread)
{
	SCOPE_LOCK(&thread->lock);
	return atomic_load(&thread->stopping) || thread->idle_ticks > ABANDONED ||
	       oracle_is_over(thread->oracle, atomic_load(&thread->all_seeds));
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

	SCOPE_LOCK(&thread->lock);
	found = oracle_answer(thread->oracle, query, sentence);
	show(thread);
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

	pthread_mutex_lock(&thread->lock);
	query = oracle_ask_next(thread->oracle);
	pthread_mutex_unlock(&thread->lock);
	if (query)
		do_query(thread, query, false, sentence);
}

static struct query *ask(struct oracle_thread *thread)
{
	double pace = thread->pace * (1e9 / (double)TICK_NS);
	double seconds = (double)SEEDS_ALL / SEARCH_RATE / (thread->cpus ? thread->cpus : 1);
	bool usual = thread->began_ns && thread->ticked_ns - thread->began_ns >= PATIENCE_NS;
	bool hard = usual && thread->missing * MISSING > thread->pace;
	const struct effort effort = {
		.guess = thread->cpus > 0,
		.usual = usual,
		.models = hard,
		.hard = hard,
		.least = pace * seconds / 4,
		.soon = pace * BRIEF,
	};

	if (thread->idle_ticks > ABANDONED)
		return NULL;
	SCOPE_LOCK(&thread->lock);
	return oracle_ask(thread->oracle, &effort);
}

static void *oracle_loop(void *context)
{
	struct oracle_thread *thread = context;

	while (!atomic_load(&thread->stopping)) {
		char sentence[ORACLE_SENTENCE], text[ORACLE_SENTENCE + 64];
		struct query *query = ask(thread);

		if (!query) {
			sleep_while_idle(thread);
			wait_tick(thread);
			continue;
		}
		atomic_store(&thread->over, false);
		if (do_query(thread, query, true, sentence)) {
			snprintf(text, sizeof(text),
				 "the readers' order is known: %s, found in %.1f s", sentence,
				 (double)thread->found_ns / 1e9);
			thread->cache->source.notice(text);
		}
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
	pthread_cond_signal(&thread->wake);
	pthread_mutex_unlock(&thread->cache->lock);
	pthread_join(thread->id, NULL);
	thread->started = false;
}

/* --- stats ----------------------------------------------------------------------------------- */

static const char *state_of(const struct oracle_thread *thread, const struct oracle_state *state)
{
	if (state->tracks)
		return "locked";
	if (!thread->watching)
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

	if (state->tracks || !thread->watching)
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
	const struct oracle_state *state = &thread->shown;

	*ret = (struct cache_oracle){
		.state = state_of(thread, state),
		.seed = state->seed,
		.epoch = state->epoch,
		.position = state->position,
		.files = state->files,
		.why = why_of(thread, state),
		.search_part =
			atomic_load(&thread->all_seeds) ? atomic_load(&thread->search.part) : 0,
		.full_search_s = thread->watching ? (uint64_t)((double)SEEDS_ALL / SEARCH_RATE) : 0,
		.searches = atomic_load(&thread->searches),
		.search_ms = thread->found_ns / 1000000,
		.followed = state->under_way,
		.locks = state->locks,
		.unlocks = state->unlocks,
		.dropped = thread->dropped,
	};
	snprintf(ret->sampler, sizeof(ret->sampler), "%s", state->sampler);
	snprintf(ret->list, sizeof(ret->list), "%s", state->list);
}
