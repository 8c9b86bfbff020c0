#include "cache/thinker.h"
#include "base/clock.h"
#include "cache/oracle_feed.h"
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TICK_NS	    50000000u /* between two looks at what was seen */
#define ASLEEP	    40	      /* ticks without a turn, after which it sleeps */
#define ABANDONED   600	      /* the same, after which a search ends: half a minute */
#define WINDOW	    8	      /* ticks over which pace and misses are averaged */
#define MISSING	    50	      /* of so many turns one misses: reading ahead would pay */
#define SEARCH_RATE 40e6      /* seeds/s of a processor, about */

/* Processor time for queries where nothing is missing: a part of the time, saved up to a most.
 * What follows a known epoch is then never too dear. */
#define SPARE	      50
#define SPARE_MOST_NS 4000000000
#define MODELS_NS     1500000000 /* what GUESS_MODELS may take */
#define LIKELY_NS     200000000	 /* no more is needed without a search */

/* A query is idle work once it has taken this part of the time that the readers need for all files,
 * or this long. Measured: an epoch of 1.3 s on two processors takes 1.4 times as long beside a
 * query of 2 s at normal priority, and 1.02 times beside one of a thirtieth. */
#define NORMAL_PART    32
#define NORMAL_MOST_NS 2000000000
#define CPUS_MAX       64

struct thinker {
	struct oracle_feed feed;
	struct cache *cache;
	_Atomic uint64_t found_ns; /* what the order that was found last took to find */

	unsigned cpus;
	pthread_t thread;
	bool started;
	atomic_bool stopping, searching, superseded;
	atomic_ullong searches;	    /* of all seeds, each of a list */
	atomic_uint search_part;    /* of the one under way, per cent */
	atomic_uint idle_ticks;	    /* without a turn */
	_Atomic uint64_t normal_ns; /* of processor time, before a query is idle work */

	/* The thread's own: */
	uint64_t ticked_ns;
	uint64_t turns, misses; /* at the last tick */
	double pace, missing;	/* turns and misses in a tick, averaged */
	int64_t spare_ns;	/* of processor time, for queries although nothing is missing */
};

int thinker_new(struct cache *cache, unsigned cpus, struct thinker **ret)
{
	struct thinker *thinker = calloc(1, sizeof(*thinker));

	if (!thinker)
		return -ENOMEM;
	thinker->cache = cache;
	thinker->cpus = cpus < CPUS_MAX ? cpus : CPUS_MAX;
	thinker->spare_ns = SPARE_MOST_NS;
	thinker->normal_ns = NORMAL_MOST_NS;
	/* Numbers of files have 32 bits. */
	if (feed_init(&thinker->feed, cache, cpus > 0 && cache->source.extents < ORDER_NONE) < 0) {
		free(thinker);
		return -ENOMEM;
	}
	*ret = thinker;
	return 0;
}

void thinker_free(struct thinker *thinker)
{
	if (!thinker)
		return;
	feed_release(&thinker->feed);
	free(thinker);
}

struct oracle_feed *thinker_feed(struct thinker *thinker)
{
	return &thinker->feed;
}

/* --- giving way ------------------------------------------------------------------------------ */

/* Idle priority counts among the processes of a session (autogroup) or a control group; against
 * others, a daemon that thinks on all processors would have its share of them. So who thinks long
 * looks, each GIVE_LOOK_NS, at how long it was kept waiting for a processor. Where that was
 * GIVE_SHARE of the time, all of them are wanted by others, and it sleeps, twice as long each time,
 * up to GIVE_MOST_NS: then it takes 10 to 20 ms in 4.8 s, less than 1 % (who has slept runs at
 * once, so that a look without waiting says little: not before GIVE_FREE_NS of them are there
 * processors to spare). */
#define GIVE_LOOK_NS  10000000ull
#define GIVE_SHARE    0.25
#define GIVE_LEAST_NS 300000000ull
#define GIVE_MOST_NS  4800000000ull
#define GIVE_FREE_NS  500000000ull
#define GIVE_STEP_NS  20000000l /* between two looks at whether to end */

struct way {
	struct thinker *thinker;
	bool idle;	  /* at idle priority */
	int fd;		  /* of this thread's schedstat; -1: nothing is known */
	uint64_t looked;  /* ns */
	uint64_t delayed; /* ns that it waited for a processor until then */
	uint64_t rest;	  /* ns to sleep the next time */
	uint64_t free;	  /* ns without waiting, since it slept */
};

/* The second number: Documentation/scheduler/sched-stats.rst of the kernel. */
static uint64_t delayed_until_now(const struct way *way)
{
	char text[96];
	ssize_t len = pread(way->fd, text, sizeof(text) - 1, 0);
	char *second;

	if (len <= 0)
		return 0;
	text[len] = '\0';
	second = strchr(text, ' ');
	return second ? strtoull(second, NULL, 10) : 0;
}

static void way_begin(struct way *way, struct thinker *thinker)
{
	const struct sched_param none = {0};

	pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
	*way = (struct way){.thinker = thinker,
			    .idle = true,
			    .fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC),
			    .looked = clock_ns(),
			    .rest = GIVE_LEAST_NS};
	way->delayed = delayed_until_now(way);
}

static void way_end(struct way *way)
{
	const struct sched_param none = {0};

	if (way->fd >= 0)
		close(way->fd);
	way->fd = -1;
	way->idle = false;
	pthread_setschedparam(pthread_self(), SCHED_OTHER, &none);
}

static bool is_over(const struct thinker *thinker)
{
	return atomic_load(&thinker->stopping) || atomic_load(&thinker->superseded) ||
	       atomic_load(&thinker->idle_ticks) > ABANDONED;
}

static void way_rest(struct way *way)
{
	const struct timespec step = {.tv_nsec = GIVE_STEP_NS};
	uint64_t end = clock_ns() + way->rest;

	while (clock_ns() < end && !is_over(way->thinker))
		nanosleep(&step, NULL);
	if (way->rest < GIVE_MOST_NS)
		way->rest *= 2;
	way->free = 0;
}

/* Of this thread. */
static uint64_t processor_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* What has not come to its end in its time of normal priority goes on as idle work. */
static void way_give(struct way *way)
{
	uint64_t now = clock_ns(), delayed;

	if (!way->idle && processor_ns() > atomic_load(&way->thinker->normal_ns))
		way_begin(way, way->thinker);
	if (way->fd < 0 || now - way->looked < GIVE_LOOK_NS)
		return;
	delayed = delayed_until_now(way) - way->delayed;
	if ((double)delayed > GIVE_SHARE * (double)(now - way->looked))
		way_rest(way);
	else if ((way->free += now - way->looked) > GIVE_FREE_NS)
		way->rest = GIVE_LEAST_NS;
	way->delayed = delayed_until_now(way);
	way->looked = clock_ns();
}

/* --- searching ------------------------------------------------------------------------------- */

/* One query at a time. */
struct thinking {
	struct thinker *thinker;
	struct query *query;
	struct way way;
	uint64_t cpu_ns; /* of its own thread, once done */
	atomic_bool done;
	pthread_mutex_t lock;
	pthread_t ids[CPUS_MAX - 1]; /* protected by lock: of those that search beside it */
	unsigned count;		     /* protected by lock */
};

/* Ranges of seeds are dealt out to the threads. */
struct search {
	struct thinker *thinker;
	const struct seeds *seeds;
	atomic_ullong next;
	uint64_t end;
	pthread_mutex_t lock;
	struct seeds_found *found; /* protected by lock */
	unsigned count, most;	   /* protected by lock */
	atomic_bool done;
};

static bool stopped(void *context)
{
	struct thinking *thinking = context;

	way_give(&thinking->way);
	return is_over(thinking->thinker);
}

static void search_step(struct search *search, uint64_t from)
{
	struct seeds_found found[8];
	unsigned count = seeds_search(search->seeds, (uint32_t)from, found, 8);

	if (count == 0)
		return;
	atomic_store(&search->done, true);
	SCOPE_LOCK(&search->lock);
	for (unsigned i = 0; i < count && i < 8; i++)
		if (search->count < search->most)
			search->found[search->count++] = found[i];
}

static void search_on(struct search *search, struct way *way)
{
	while (!atomic_load(&search->done) && !is_over(search->thinker)) {
		uint64_t from = atomic_fetch_add(&search->next, SEEDS_STEP);

		if (from >= search->end)
			break;
		atomic_store(&search->thinker->search_part, (unsigned)(100 * from / search->end));
		search_step(search, from);
		way_give(way);
	}
}

static void *search_thread(void *context)
{
	struct search *search = context;
	struct way way;

	way_begin(&way, search->thinker);
	search_on(search, &way);
	way_end(&way);
	return NULL;
}

static void start_searchers(struct thinking *thinking, struct search *search)
{
	SCOPE_LOCK(&thinking->lock);
	while (thinking->count + 1 < thinking->thinker->cpus &&
	       pthread_create(&thinking->ids[thinking->count], NULL, search_thread, search) == 0)
		thinking->count++;
}

static bool next_searcher(struct thinking *thinking, pthread_t *ret)
{
	SCOPE_LOCK(&thinking->lock);
	if (thinking->count == 0)
		return false;
	*ret = thinking->ids[--thinking->count];
	return true;
}

static unsigned search_all(void *context, const struct seeds *seeds, uint64_t from, uint64_t to,
			   struct seeds_found *ret, unsigned most)
{
	struct thinking *thinking = context;
	struct thinker *thinker = thinking->thinker;
	struct search search = {
		.thinker = thinker, .seeds = seeds, .end = to, .found = ret, .most = most};
	pthread_t id;

	atomic_store(&thinker->search_part, 0);
	atomic_store(&thinker->searching, to == SEEDS_ALL);
	atomic_fetch_add(&thinker->searches, to == SEEDS_ALL);
	atomic_init(&search.next, from);
	pthread_mutex_init(&search.lock, NULL);
	if (to == SEEDS_ALL) { /* less is done before other threads would be of use */
		if (!thinking->way.idle)
			way_begin(&thinking->way, thinker);
		start_searchers(thinking, &search);
	}
	search_on(&search, &thinking->way);
	while (next_searcher(thinking, &id))
		pthread_join(id, NULL);
	pthread_mutex_destroy(&search.lock);
	atomic_store(&thinker->searching, false);
	return search.count;
}

/* --- thinking -------------------------------------------------------------------------------- */

static int lists(void *context, uint64_t file, oracle_list_fn *found, void *arg)
{
	const struct thinking *thinking = context;
	const struct cache_source *source = &thinking->thinker->cache->source;

	return source->lists ? source->lists(source->context, file, found, arg) : 0;
}

static uint64_t kind(void *context, uint64_t file)
{
	const struct thinking *thinking = context;

	const struct cache_source *source = &thinking->thinker->cache->source;

	return source->kind ? source->kind(source->context, file) : 0;
}

static uint32_t classes(void *context, uint64_t file)
{
	const struct thinking *thinking = context;
	const struct cache_source *source = &thinking->thinker->cache->source;

	return source->classes ? source->classes(source->context, file) : 0;
}

static void *think_thread(void *context)
{
	struct thinking *thinking = context;
	struct thinker *thinker = thinking->thinker;
	const struct oracle_hooks hooks = {
		.search = {.context = thinking, .search = search_all, .stopped = stopped},
		.context = thinking,
		.lists = lists,
		.kind = kind,
		.classes = classes,
	};

	oracle_run(thinking->query, &hooks);
	if (thinking->way.idle)
		way_end(&thinking->way);
	thinking->cpu_ns = processor_ns();
	atomic_store(&thinking->done, true);
	SCOPE_LOCK(&thinker->cache->lock);
	if (atomic_load(&thinker->stopping)) /* else the next tick is soon enough */
		pthread_cond_signal(&thinker->feed.wake);
	return NULL;
}

/* Nothing may be idle for long: who is to end gets a processor. */
static void hurry(struct thinking *thinking, pthread_t id)
{
	const struct sched_param none = {0};

	pthread_setschedparam(id, SCHED_OTHER, &none);
	SCOPE_LOCK(&thinking->lock);
	for (unsigned i = 0; i < thinking->count; i++)
		pthread_setschedparam(thinking->ids[i], SCHED_OTHER, &none);
}

/* At the readers' pace, in turns a tick. */
static uint64_t normal_ns(const struct thinker *thinker)
{
	double turns = (double)thinker->cache->source.extents;
	double ns = TICK_NS / NORMAL_PART * turns / (thinker->pace + 1e-9);

	return ns < NORMAL_MOST_NS ? (uint64_t)ns : NORMAL_MOST_NS;
}

/* Looks at how the readers go on. */
static void tick(struct thinker *thinker, uint64_t misses)
{
	uint64_t turns = oracle_turns(thinker->feed.oracle);
	double weight = 1.0 / WINDOW;

	if (turns == thinker->turns)
		atomic_fetch_add(&thinker->idle_ticks, 1);
	else
		atomic_store(&thinker->idle_ticks, 0);
	thinker->pace += weight * ((double)(turns - thinker->turns) - thinker->pace);
	thinker->missing += weight * ((double)(misses - thinker->misses) - thinker->missing);
	thinker->turns = turns;
	thinker->misses = misses;
	atomic_store(&thinker->normal_ns, normal_ns(thinker));
	thinker->spare_ns += TICK_NS / SPARE;
	if (thinker->spare_ns > SPARE_MOST_NS)
		thinker->spare_ns = SPARE_MOST_NS;
}

/* Until somebody reads again. */
static void sleep_while_idle(struct thinker *thinker)
{
	if (atomic_load(&thinker->idle_ticks) < ASLEEP)
		return;
	SCOPE_LOCK(&thinker->cache->lock);
	thinker->feed.asleep = thinker->feed.seen.end == thinker->feed.heard;
	while (thinker->feed.asleep && !atomic_load(&thinker->stopping))
		pthread_cond_wait(&thinker->feed.wake, &thinker->cache->lock);
	atomic_store(&thinker->idle_ticks, 0);
}

/* Waits until there is something to hear, or the next tick. Returns the misses until then. */
static uint64_t wait_for_events(struct thinker *thinker)
{
	const struct timespec until = clock_after(TICK_NS);

	SCOPE_LOCK(&thinker->cache->lock);
	if (thinker->feed.seen.end - thinker->feed.heard < FEED_WAKE)
		pthread_cond_timedwait(&thinker->feed.wake, &thinker->cache->lock, &until);
	return thinker->cache->misses;
}

static void wait_tick(struct thinker *thinker)
{
	uint64_t misses = wait_for_events(thinker), now = clock_ns();

	feed_listen(&thinker->feed);
	if (now - thinker->ticked_ns < TICK_NS)
		return;
	thinker->ticked_ns = now;
	tick(thinker, misses);
}

static struct effort effort_of(const struct thinker *thinker)
{
	double seconds = (double)SEEDS_ALL / SEARCH_RATE / (thinker->cpus ? thinker->cpus : 1);
	bool hard = thinker->missing * MISSING > thinker->pace;

	return (struct effort){
		.guess = thinker->cpus > 0 && (hard || thinker->spare_ns > 0),
		.models = hard || thinker->spare_ns > MODELS_NS,
		.hard = hard,
		.least = thinker->pace * (1e9 / (double)TICK_NS) * seconds / 4,
	};
}

static bool has_new(struct thinker *thinker)
{
	SCOPE_LOCK(&thinker->feed.lock);
	return oracle_has_new(thinker->feed.oracle, atomic_load(&thinker->searching));
}

static void wait_for(struct thinker *thinker, struct thinking *thinking, pthread_t id)
{
	while (!atomic_load(&thinking->done)) {
		wait_tick(thinker);
		if (has_new(thinker))
			atomic_store(&thinker->superseded, true);
		if (is_over(thinker))
			hurry(thinking, id);
	}
	hurry(thinking, id);
	pthread_join(id, NULL);
}

/* A long search was worth it, as files were missing: it does not keep from what takes little. */
static void charge(struct thinker *thinker, int64_t cpu_ns)
{
	if (cpu_ns <= LIKELY_NS || cpu_ns <= thinker->spare_ns)
		thinker->spare_ns -= cpu_ns;
	else if (thinker->spare_ns > 0)
		thinker->spare_ns = 0;
}

/* Takes the query back. Returns whether an order was found. */
static bool answer(struct thinker *thinker, struct query *query, uint64_t took,
		   char sentence[ORACLE_SENTENCE])
{
	bool found;

	SCOPE_LOCK(&thinker->feed.lock);
	found = oracle_answer(thinker->feed.oracle, query, sentence);
	feed_show(&thinker->feed);
	if (found)
		thinker->found_ns = took;
	return found;
}

static bool think(struct thinker *thinker, struct query *query, char sentence[ORACLE_SENTENCE])
{
	struct thinking thinking = {
		.thinker = thinker, .query = query, .way = {.thinker = thinker, .fd = -1}};
	uint64_t began = clock_ns(), took;
	bool made = false;
	pthread_t id;

	pthread_mutex_init(&thinking.lock, NULL);
	atomic_store(&thinker->superseded, false);
	while (!atomic_load(&thinker->stopping) &&
	       !(made = pthread_create(&id, NULL, think_thread, &thinking) == 0))
		wait_tick(thinker);
	if (made)
		wait_for(thinker, &thinking, id);
	pthread_mutex_destroy(&thinking.lock);
	took = clock_ns() - began;
	charge(thinker, (int64_t)thinking.cpu_ns);
	return answer(thinker, query, took, sentence);
}

static void tell(struct thinker *thinker, const char *sentence)
{
	const struct cache_source *source = &thinker->cache->source;
	char text[ORACLE_SENTENCE + 64];

	snprintf(text, sizeof(text), "the readers' order is known: %s, found in %.1f s", sentence,
		 (double)thinker->found_ns / 1e9);
	if (source->locked)
		source->locked(source->context, text);
}

static struct query *ask(struct thinker *thinker)
{
	const struct effort effort = effort_of(thinker);

	if (atomic_load(&thinker->idle_ticks) > ABANDONED)
		return NULL;
	SCOPE_LOCK(&thinker->feed.lock);
	return oracle_ask(thinker->feed.oracle, &effort);
}

static void *thinker_thread(void *context)
{
	struct thinker *thinker = context;

	while (!atomic_load(&thinker->stopping)) {
		char sentence[ORACLE_SENTENCE];
		struct query *query = ask(thinker);

		if (!query) {
			sleep_while_idle(thinker);
			wait_tick(thinker);
			continue;
		}
		if (think(thinker, query, sentence))
			tell(thinker, sentence);
		work_look(thinker->cache->work);
	}
	return NULL;
}

int thinker_start(struct thinker *thinker)
{
	int r = pthread_create(&thinker->thread, NULL, thinker_thread, thinker);

	thinker->started = r == 0;
	return -r;
}

void thinker_stop(struct thinker *thinker)
{
	if (!thinker->started)
		return;
	atomic_store(&thinker->stopping, true);
	pthread_mutex_lock(&thinker->cache->lock);
	pthread_cond_signal(&thinker->feed.wake);
	pthread_mutex_unlock(&thinker->cache->lock);
	pthread_join(thinker->thread, NULL);
	thinker->started = false;
}

/* --- stats ----------------------------------------------------------------------------------- */

static const char *state_of(const struct thinker *thinker, const struct oracle_state *state)
{
	if (state->tracks)
		return "locked";
	if (!thinker->feed.watching)
		return "off";
	if (atomic_load(&thinker->searching))
		return "searching";
	return atomic_load(&thinker->searches) ? "none" : "watching";
}

static const char *why_of(const struct thinker *thinker, const struct oracle_state *state)
{
	static const char *const words[] = {
		[ORACLE_IDLE] = "idle",
		[ORACLE_TOO_FEW] = "too few files read",
		[ORACLE_PATH_ORDER] = "path order",
		[ORACLE_NO_NEED] = "search would not pay",
		[ORACLE_TOO_SHORT] = "list too short",
		[ORACLE_UNKNOWN] = "not a known order",
	};

	if (state->tracks || !thinker->feed.watching)
		return "";
	if (atomic_load(&thinker->searching))
		return "searching";
	/* A search is left out where too little was seen for it. */
	return words[state->why == ORACLE_UNKNOWN && !atomic_load(&thinker->searches)
			     ? ORACLE_TOO_FEW
			     : state->why];
}

void thinker_stats(struct thinker *thinker, struct cache_oracle *ret)
{
	const struct oracle_state *state = &thinker->feed.shown;

	SCOPE_LOCK(&thinker->feed.show);
	*ret = (struct cache_oracle){
		.state = state_of(thinker, state),
		.seed = state->seed,
		.epoch = state->epoch,
		.position = state->position,
		.files = state->files,
		.why = why_of(thinker, state),
		.search_part =
			atomic_load(&thinker->searching) ? atomic_load(&thinker->search_part) : 0,
		.full_search_s =
			thinker->feed.watching ? (uint64_t)((double)SEEDS_ALL / SEARCH_RATE) : 0,
		.searches = atomic_load(&thinker->searches),
		.search_ms = thinker->found_ns / 1000000,
		.followed = state->under_way,
		.locks = state->locks,
		.unlocks = state->unlocks,
		.dropped = thinker->feed.seen.dropped,
	};
	snprintf(ret->sampler, sizeof(ret->sampler), "%s", state->sampler);
	snprintf(ret->list, sizeof(ret->list), "%s", state->list);
}
