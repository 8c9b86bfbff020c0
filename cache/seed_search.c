#include "cache/seed_search.h"
#include "base/scope.h"

/* What the threads share. */
struct ranges {
	struct seed_search *search;
	const struct seeds *seeds;
	atomic_ullong next;
	uint64_t end;
	atomic_bool done;
	pthread_mutex_t lock;
	struct seeds_found *found; /* protected by lock */
	unsigned count, most;	   /* protected by lock */
};

void seed_search_init(struct seed_search *search, unsigned threads, bool (*over)(void *context),
		      void *context)
{
	*search = (struct seed_search){.threads = threads, .over = over, .context = context};
	pthread_mutex_init(&search->lock, NULL);
}

void seed_search_release(struct seed_search *search)
{
	pthread_mutex_destroy(&search->lock);
}

static void search_range(struct ranges *ranges, uint64_t from)
{
	struct seeds_found found[8];
	unsigned count = seeds_search(ranges->seeds, (uint32_t)from, found, 8);

	if (count == 0)
		return;
	atomic_store(&ranges->done, true);
	SCOPE_LOCK(&ranges->lock);
	for (unsigned i = 0; i < count && i < 8; i++)
		if (ranges->count < ranges->most)
			ranges->found[ranges->count++] = found[i];
}

static void search_ranges(struct ranges *ranges, struct idle_work *work)
{
	struct seed_search *search = ranges->search;

	while (!atomic_load(&ranges->done) && !search->over(search->context)) {
		uint64_t from = atomic_fetch_add(&ranges->next, SEEDS_STEP);

		if (from >= ranges->end)
			break;
		atomic_store(&search->part, (unsigned)(100 * from / ranges->end));
		search_range(ranges, from);
		idle_work_give(work, search->over, search->context);
	}
}

static void *helper_thread(void *context)
{
	struct idle_work work;

	idle_work_init(&work, 0, IDLE_WORK_SAVED);
	idle_work_begin(&work);
	search_ranges(context, &work);
	return NULL;
}

static void start_helpers(struct seed_search *search, struct ranges *ranges)
{
	SCOPE_LOCK(&search->lock);
	while (search->count + 1 < search->threads &&
	       pthread_create(&search->ids[search->count], NULL, helper_thread, ranges) == 0)
		search->count++;
}

static bool take_helper(struct seed_search *search, pthread_t *ret)
{
	SCOPE_LOCK(&search->lock);
	if (search->count == 0)
		return false;
	*ret = search->ids[--search->count];
	return true;
}

unsigned seed_search(struct seed_search *search, struct idle_work *own, const struct seeds *seeds,
		     uint64_t from, uint64_t to, struct seeds_found *ret, unsigned most)
{
	struct ranges ranges = {
		.search = search, .seeds = seeds, .end = to, .found = ret, .most = most};
	pthread_t id;

	atomic_init(&ranges.next, from);
	pthread_mutex_init(&ranges.lock, NULL);
	if (to == SEEDS_ALL)
		start_helpers(search, &ranges);
	search_ranges(&ranges, own);
	while (take_helper(search, &id))
		pthread_join(id, NULL);
	pthread_mutex_destroy(&ranges.lock);
	return ranges.count;
}

void seed_search_hurry(struct seed_search *search)
{
	const struct sched_param none = {0};

	SCOPE_LOCK(&search->lock);
	for (unsigned i = 0; i < search->count; i++)
		pthread_setschedparam(search->ids[i], SCHED_OTHER, &none);
}
