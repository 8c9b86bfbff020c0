#include "cache/oracle_feed.h"
#include "base/clock.h"
#include "base/math.h"
#include "cache/cache_internal.h"
#include "cache/plan/plan_order.h"
#include <string.h>

#define LATE	    4096   /* files, by which it is judged how readers are seen */
#define CATCH_UP    32	   /* events that a forecast may lack when it is given */
#define BATCH	    256	   /* events that are taken over at once */
#define HIDDEN_STEP 65536u /* bytes of a set that are copied at once */

/* --- what the planner is given --------------------------------------------------------------- */

/* Tells a copy what was seen since the oracle's was where it is, until hardly anything is left.
 * Returns with the cache's lock held. */
static void catch_up(struct oracle_feed *feed, struct forecast *forecast, uint64_t from)
{
	struct cache *cache = feed->cache;
	struct seen_event events[BATCH];
	unsigned count;

	pthread_mutex_lock(&cache->lock);
	while ((count = seen_read(&feed->seen, from, events, BATCH)) > 0) {
		bool few = count <= CATCH_UP;

		if (!few)
			pthread_mutex_unlock(&cache->lock);
		for (unsigned i = 0; i < count; i++)
			if (events[i].kind == SEEN_PUSHED)
				forecast_push(forecast, events[i].file);
			else
				forecast_saw(forecast, events[i].file);
		if (few)
			return;
		from += count;
		pthread_mutex_lock(&cache->lock);
	}
}

/* The planner's copy is made and caught up without the cache's lock, and only given under it. The
 * feed's lock is held, here and below. */
static void follow(void *context, const struct forecast *forecast)
{
	struct oracle_feed *feed = context;
	struct cache *cache = feed->cache;
	struct forecast *copy;

	if (forecast_copy(forecast, &copy) < 0)
		return;
	catch_up(feed, copy, feed->taken);
	if (plan_follow(cache->ahead.plan, forecast, copy) == 0)
		copy = NULL;
	pthread_mutex_unlock(&cache->lock);
	forecast_free(copy);
}

static void leave(void *context, const struct forecast *forecast)
{
	struct cache *cache = ((struct oracle_feed *)context)->cache;
	struct forecast *copy;

	pthread_mutex_lock(&cache->lock);
	copy = plan_leave(cache->ahead.plan, forecast);
	pthread_mutex_unlock(&cache->lock);
	forecast_free(copy);
}

/* Copies a part of what the kernel keeps. False: readers are seen although it keeps files. */
static bool copy_hidden(struct oracle_feed *feed, uint8_t *ret, size_t from, size_t bytes)
{
	struct cache *cache = feed->cache;
	const uint8_t *kept;

	SCOPE_LOCK(&cache->lock);
	kept = residency_kept(cache->residency);
	if (!kept || feed->opened >= feed->begun / 2)
		return false;
	memcpy(ret + from, kept + from, bytes);
	return true;
}

/* No READ comes for what the kernel keeps; but programs that ask of each file whether it is a
 * terminal are seen all the same. */
static uint8_t *hidden(void *context)
{
	struct oracle_feed *feed = context;
	size_t size = feed->cache->source.extents / 8 + 1;
	uint8_t *copy = malloc(size);

	for (size_t from = 0; copy && from < size; from += HIDDEN_STEP)
		if (!copy_hidden(feed, copy, from, min(HIDDEN_STEP, size - from))) {
			free(copy);
			return NULL;
		}
	return copy;
}

int feed_init(struct oracle_feed *feed, struct cache *cache, bool watching)
{
	const struct oracle_ops ops = {
		.context = feed, .follow = follow, .leave = leave, .hidden = hidden};

	feed->cache = cache;
	feed->watching = watching;
	if (oracle_new(cache->source.extents, &ops, &feed->oracle) < 0)
		return -ENOMEM;
	pthread_mutex_init(&feed->lock, NULL);
	clock_cond_init(&feed->wake);
	return 0;
}

void feed_release(struct oracle_feed *feed)
{
	oracle_free(feed->oracle);
	pthread_cond_destroy(&feed->wake);
	pthread_mutex_destroy(&feed->lock);
}

/* --- what is seen ---------------------------------------------------------------------------- */

static void note_event(struct oracle_feed *feed, uint32_t reader, uint64_t file,
		       enum seen_kind kind)
{
	bool enough;

	seen_add(&feed->seen, (struct seen_event){reader, (uint32_t)file, kind});
	enough = feed->seen.end - feed->seen.begin == FEED_WAKE;
	if (!feed->asleep && !enough)
		return;
	feed->asleep = false;
	pthread_cond_signal(&feed->wake);
}

void feed_saw(struct oracle_feed *feed, uint32_t reader, uint64_t file, bool opened)
{
	if (!feed->watching)
		return;
	feed->opened += opened;
	feed->begun += !opened;
	if (feed->opened + feed->begun == LATE) {
		feed->opened /= 2;
		feed->begun /= 2;
	}
	plan_order_saw(plan_known_orders(feed->cache->ahead.plan), file);
	note_event(feed, reader, file, opened ? SEEN_OPENED : SEEN_ASKED);
}

void feed_pushed(struct oracle_feed *feed, uint64_t file)
{
	plan_order_pushed(plan_known_orders(feed->cache->ahead.plan), file);
	note_event(feed, 0, file, SEEN_PUSHED);
}

void feed_show(struct oracle_feed *feed)
{
	struct oracle_state state;

	oracle_state(feed->oracle, &state);
	SCOPE_LOCK(&feed->cache->lock);
	feed->shown = state;
}

static unsigned take_events(struct oracle_feed *feed, struct seen_event events[BATCH])
{
	SCOPE_LOCK(&feed->cache->lock);
	seen_release(&feed->seen, feed->taken);
	return seen_read(&feed->seen, feed->taken, events, BATCH);
}

/* Tells the oracle all that was seen until now. */
void feed_listen(struct oracle_feed *feed)
{
	struct seen_event events[BATCH];
	unsigned count;

	SCOPE_LOCK(&feed->lock);
	while ((count = take_events(feed, events)) > 0)
		for (unsigned i = 0; i < count; i++) {
			feed->taken++;
			if (events[i].kind == SEEN_PUSHED)
				oracle_pushed(feed->oracle, events[i].file);
			else
				oracle_saw(feed->oracle, events[i].reader, events[i].file);
		}
	feed_show(feed);
}

int feed_order(struct oracle_feed *feed, const uint32_t *files, uint32_t count)
{
	int r;

	SCOPE_LOCK(&feed->lock);
	r = oracle_order(feed->oracle, files, count);
	feed_show(feed);
	SCOPE_LOCK(&feed->cache->lock);
	feed->watching = feed->watching || count > 0;
	return r;
}
