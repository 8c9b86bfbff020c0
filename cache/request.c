/* The way of a request: admitted with all its extents or starved; answered at once, or parked
 * on the fills that are missing; delivered by whoever ends the last of them. */
#include "base/clock.h"
#include "base/math.h"
#include "cache/cache_internal.h"
#include "cache/fill.h"
#include "cache/oracle_thread.h"

static void ring_append(struct waiter *head, struct waiter *waiter)
{
	waiter->prev = head->prev;
	waiter->next = head;
	head->prev->next = waiter;
	head->prev = waiter;
}

static void ring_remove(struct waiter *waiter)
{
	waiter->prev->next = waiter->next;
	waiter->next->prev = waiter->prev;
}

void requests_init(struct requests *requests)
{
	requests->parked.prev = requests->parked.next = &requests->parked;
	requests->starved.prev = requests->starved.next = &requests->starved;
}

/* --- admission ------------------------------------------------------------------------------- */

/* Adds an extent and a fill for it. Lock held. */
static int add_extent(struct cache *cache, const struct extent *wanted, struct pool_extent **ret,
		      struct fill **fills)
{
	struct fill *fill = fill_new(1);
	int r = fill ? pool_add(cache->pool, wanted, POOL_USED, ret) : -ENOMEM;

	if (r < 0) {
		free(fill);
		return r;
	}
	pool_pin(cache->pool, *ret); /* one pin for the fill, one for the reader */
	learner_wanted(&cache->ahead.learner, wanted->size);
	fill->extents[0] = *ret;
	fill->next = *fills;
	*fills = fill;
	return 0;
}

/* Pins those that are there. False: it would take more slots, or take more off offer, than there
 * are. Lock held. */
static bool pin_extents(struct cache *cache, struct waiter *waiter)
{
	uint64_t slots = 0;

	for (unsigned i = 0; i < waiter->count; i++) {
		waiter->extents[i] = pool_find(cache->pool, waiter->wanted[i].number);
		if (!waiter->extents[i] || waiter->extents[i]->pins == 0)
			slots += pool_slots(&waiter->wanted[i]);
	}
	if (!pool_has_room(cache->pool, slots))
		return false;
	for (unsigned i = 0; i < waiter->count; i++)
		if (waiter->extents[i])
			pool_pin(cache->pool, waiter->extents[i]);
	return true;
}

/* Gives the request all its extents, or none (-ENOBUFS): one that held some and waited for
 * memory could keep others from ever finishing. Lock held. On -ENOMEM the waiter counts as
 * cancelled, and goes with what it already waits for. */
static int admit(struct cache *cache, struct waiter *waiter, struct fill **fills)
{
	if (!pin_extents(cache, waiter))
		return -ENOBUFS;
	for (unsigned i = 0; i < waiter->count; i++) {
		struct pool_extent *extent = waiter->extents[i];
		int r = extent ? 0 : add_extent(cache, &waiter->wanted[i], &extent, fills);

		if (r < 0) {
			for (unsigned rest = i + 1; rest < waiter->count; rest++)
				if (waiter->extents[rest])
					pool_unpin(cache->pool, waiter->extents[rest]);
			waiter->count = i;
			waiter->cancelled = true;
			return r;
		}
		waiter->extents[i] = extent;
		served_asked(cache, extent, i > 0 || waiter->request.from == 0);
		if (extent->state != POOL_FILLING)
			continue;
		fill_hurry(extent);
		waiter->links[i] = (struct wait_link){.waiter = waiter, .next = extent->waiters};
		extent->waiters = &waiter->links[i];
		waiter->pending++;
	}
	if (waiter->pending)
		ring_append(&cache->requests.parked, waiter);
	return 0;
}

/* Returns whether the bytes were served. */
static bool answer(struct cache *cache, const struct waiter *waiter)
{
	const struct cache_request *request = &waiter->request;
	struct iovec iov[CACHE_READ_EXTENTS * (CACHE_EXTENT_MAX / SLOT_BYTES + 2)];
	uint32_t from = request->from, left = request->size;
	int count = 0;

	for (unsigned i = 0; i < waiter->count; i++) {
		const struct pool_extent *extent = waiter->extents[i];
		uint32_t len = (uint32_t)min(left, extent->is.size - from);

		if (extent->state == POOL_FAILED) {
			request->done(request->arg, extent->error, NULL, 0);
			return false;
		}
		count += pool_iov(cache->pool, extent, from, len, iov + count);
		left -= len;
		from = 0;
	}
	atomic_fetch_add_explicit(&cache->served.bytes, request->size, memory_order_relaxed);
	request->done(request->arg, 0, iov, count);
	return true;
}

/* What it served is counted, and its pins go. */
static void release_extents(struct cache *cache, const struct waiter *waiter, bool served,
			    struct drops *drops)
{
	uint32_t from = waiter->request.from, left = waiter->request.size;

	SCOPE_LOCK(&cache->lock);
	for (unsigned i = 0; i < waiter->count; i++) {
		struct pool_extent *extent = waiter->extents[i];
		uint32_t len = (uint32_t)min(left, extent->is.size - from);

		if (served)
			served_range(cache, extent, from, len, drops);
		else
			drops_add(drops, extent->is.number);
		pool_unpin(cache->pool, extent);
		left -= len;
		from = 0;
	}
}

/* Counts it once: a reader may leave before the bytes are there. */
static void wait_ended(struct cache *cache, struct waiter *waiter)
{
	if (waiter->since)
		histogram_add(&cache->requests.waits, (clock_ns() - waiter->since) / 1000);
	waiter->since = 0;
}

/* Answers a waiter that has all its extents, releases them and frees it. */
static void waiter_deliver(struct cache *cache, struct waiter *waiter)
{
	struct drops drops = {0};
	bool served;

	wait_ended(cache, waiter);
	served = !waiter->cancelled && answer(cache, waiter);
	release_extents(cache, waiter, served, &drops);
	drops_send(cache, &drops);
	free(waiter);
}

/* --- the end of a fill ----------------------------------------------------------------------- */

/* Takes the waiters that have all they need off an extent. */
static struct waiter *take_ready(struct pool_extent *extent)
{
	struct waiter *ready = NULL;

	for (struct wait_link *link = extent->waiters; link; link = link->next) {
		struct waiter *waiter = link->waiter;

		if (--waiter->pending)
			continue;
		if (!waiter->cancelled)
			ring_remove(waiter);
		waiter->next = ready;
		ready = waiter;
	}
	extent->waiters = NULL;
	return ready;
}

/* The fill's pin goes last, so that nothing is evicted before it is delivered. What was read ahead
 * fails in silence: a later request reads it again, and gets the error. What was not read because
 * the cache stops is nobody's fault. */
static void request_filled(struct cache *cache, struct pool_extent *extent, int error)
{
	uint64_t number = extent->is.number;
	struct waiter *ready;
	bool asked;

	pthread_mutex_lock(&cache->lock);
	asked = !pool_is_ahead(extent->use);
	if (error)
		pool_failed(cache->pool, extent, error);
	else
		pool_filled(extent);
	ready = take_ready(extent);
	if (!asked)
		push_wake(cache);
	pool_unpin(cache->pool, extent);
	pthread_mutex_unlock(&cache->lock);
	if (error && error != -ECANCELED && asked) {
		atomic_fetch_add_explicit(&cache->requests.bad_extents, 1, memory_order_relaxed);
		cache->source.ops->failed(cache->source.context, number, error);
	}
	while (ready) {
		struct waiter *next = ready->next;

		waiter_deliver(cache, ready);
		ready = next;
	}
}

/* Returns whether all extents are right. */
static bool deliver(struct cache *cache, struct fill *fill)
{
	bool right = fill->error == 0;

	for (unsigned i = 0; i < fill->count; i++) {
		int r = fill_check(cache, fill, i);

		right &= r == 0;
		request_filled(cache, fill->extents[i], r);
	}
	return right;
}

bool request_read_now(struct cache *cache, struct fill *fill)
{
	if (!fill_read_now(cache, fill))
		return false;
	deliver(cache, fill);
	free(fill);
	return true;
}

void request_read(struct cache *cache, struct fill *fill)
{
	fill_read(cache, fill);
	deliver(cache, fill);
	free(fill);
}

/* `pin`: pool_pin() or pool_unpin(). */
static void pin_all(struct cache *cache, const struct fill *fill,
		    void (*pin)(struct pool *pool, struct pool_extent *extent))
{
	SCOPE_LOCK(&cache->lock);
	for (unsigned i = 0; i < fill->count; i++)
		pin(cache->pool, fill->extents[i]);
}

/* What was submitted is there. Returns what fill_land() did. */
static struct fill *land(struct cache *cache, struct fill *fill)
{
	struct fill *again = fill_land(cache, fill);
	bool settles = fill->request.settle;

	/* What the reader still does with the bytes comes after the answer: they stay meanwhile. */
	if (settles)
		pin_all(cache, fill, pool_pin);
	reader_settle(&fill->request, deliver(cache, fill));
	if (settles)
		pin_all(cache, fill, pool_unpin);
	free(fill->iov);
	free(fill);
	return again;
}

/* --- the way of a request -------------------------------------------------------------------- */

/* What admission led to; looked at without the lock, when a parked waiter may be gone. */
struct step {
	struct waiter *waiter;
	struct cache_request request;
	int error;
	bool parked;
	bool look; /* something may be worth reading ahead */
	struct fill *fills;
};

/* A file is read in pieces, but asked for once: by the first of them. */
static bool tell_planner(struct cache *cache, const struct waiter *waiter)
{
	unsigned going_on = waiter->request.from > 0;

	if (cache->oracle && !going_on && waiter->wanted[0].file == waiter->wanted[0].number)
		oracle_thread_saw(cache->oracle, waiter->request.reader, waiter->request.extent,
				  false);
	push_wake(cache);
	return ahead_demand(cache, waiter->wanted + going_on, waiter->count - going_on);
}

/* The reader may have been killed before its request could be found by cache_cancel(). */
static bool is_gone(const struct waiter *waiter)
{
	return waiter->request.gone && waiter->request.gone(waiter->request.arg);
}

/* Lock held. False where there is no room now. */
static bool step_begin(struct cache *cache, struct waiter *waiter, struct step *ret)
{
	*ret = (struct step){.waiter = waiter, .request = waiter->request};
	ret->error = admit(cache, waiter, &ret->fills);
	if (ret->error == -ENOBUFS)
		return false;
	if (ret->error == 0) {
		ret->look = tell_planner(cache, waiter);
		for (struct fill **at = &ret->fills; *at; at = &(*at)->next)
			*at = ahead_widen(cache, *at);
	}
	ret->parked = waiter->pending > 0;
	if (!ret->parked || waiter->cancelled)
		return true;
	if (!waiter->since)
		waiter->since = clock_ns();
	if (is_gone(waiter)) {
		ring_remove(waiter);
		waiter->cancelled = true;
		ret->error = -EINTR;
	}
	return true;
}

/* Reads at once what needs no waiting, and leaves the rest to the I/O threads. If `here`, and none
 * of them reads for somebody, one fill is left to the caller, to wake none: it is returned. */
static struct fill *launch(struct cache *cache, struct fill *fills, bool here)
{
	struct fill *own = NULL;

	while (fills) {
		struct fill *next = fills->next;

		if (request_read_now(cache, fills)) {
			atomic_fetch_add(&cache->requests.cached, 1);
		} else {
			atomic_store(&cache->requests.cached, 0);
			if (atomic_fetch_add(&cache->requests.running, 1) == 0 && here)
				own = fills;
			else
				work_add(cache->work, &fills->item);
		}
		fills = next;
	}
	return own;
}

/* Returns what launch() leaves to the caller. */
static struct fill *step_end(struct cache *cache, const struct step *step, bool here)
{
	struct fill *own;

	if (step->error)
		step->request.done(step->request.arg, step->error, NULL, 0);
	if (!step->parked)
		waiter_deliver(cache, step->waiter);
	own = launch(cache, step->fills, here);
	if (step->look)
		work_look(cache->work);
	return own;
}

/* The one that has starved for longest. False: there is none, or no room for it yet. */
static bool next_starved(struct cache *cache, struct step *ret)
{
	struct waiter *waiter;

	if (!atomic_load(&cache->requests.starving))
		return false;
	SCOPE_LOCK(&cache->lock);
	if (waiters_none(&cache->requests.starved)) {
		atomic_store(&cache->requests.starving, false);
		return false;
	}
	waiter = cache->requests.starved.next;
	ring_remove(waiter);
	if (step_begin(cache, waiter, ret))
		return true;
	ring_append(cache->requests.starved.next, waiter); /* to where it was, at the front */
	return false;
}

/* Admits those that were starved, as far as there is room now. */
static void settle(struct cache *cache)
{
	struct step step;

	while (next_starved(cache, &step))
		step_end(cache, &step, false);
}

/* False: it starves, as all do that come after one that does. */
static bool begin_or_starve(struct cache *cache, struct waiter *waiter, struct step *ret)
{
	SCOPE_LOCK(&cache->lock);
	if (waiters_none(&cache->requests.starved) && step_begin(cache, waiter, ret))
		return true;
	waiter->since = clock_ns();
	if (is_gone(waiter)) {
		waiter->count = 0;
		waiter->cancelled = true;
		*ret = (struct step){.waiter = waiter, .request = waiter->request, .error = -EINTR};
		return true;
	}
	ring_append(&cache->requests.starved, waiter);
	atomic_store(&cache->requests.starving, true);
	return false;
}

static void request_perform(void *context, struct work_item *item)
{
	struct cache *cache = context;
	/* The item is the fill's first member. */
	struct fill *fill = (struct fill *)(void *)item;
	bool ahead = fill->ahead;

	if (cache->remote && !fill_is_submitted(fill)) {
		fill_submit(cache, fill);
		return;
	}
	if (cache->remote)
		launch(cache, land(cache, fill), false);
	else if (!ahead || !request_read_now(cache, fill))
		request_read(cache, fill);
	if (ahead)
		ahead_done(cache);
	else
		atomic_fetch_sub(&cache->requests.running, 1);
	settle(cache);
	/* What was held back for a read that somebody waited for may go on. */
	if (ahead ? cache->remote : ahead_released(cache))
		work_look(cache->work);
}

void cache_read(struct cache *cache, const struct cache_request *request)
{
	struct waiter *waiter = calloc(1, sizeof(*waiter));
	bool here = request->may_wait && !cache->remote && !cache->shared;
	struct fill *own;
	struct step step;

	if (!waiter) {
		request->done(request->arg, -ENOMEM, NULL, 0);
		return;
	}
	waiter->request = *request;
	/* All extents of a file but its last are of full length. */
	waiter->count =
		(unsigned)((request->from + (uint64_t)request->size + CACHE_EXTENT_MAX - 1) /
			   CACHE_EXTENT_MAX);
	for (unsigned i = 0; i < waiter->count; i++)
		waiter->wanted[i] = cache_extent(cache, request->extent + i);
	if (!begin_or_starve(cache, waiter, &step))
		return;
	own = step_end(cache, &step, here);
	if (own)
		request_perform(cache, &own->item);
	else
		settle(cache);
}

/* What is submitted keeps no thread busy: as much of it as may be under way. */
static struct work_item *request_find(void *context)
{
	struct cache *cache = context;
	struct fill *fill = ahead_find(cache);

	while (fill && cache->remote) {
		fill_submit(cache, fill);
		fill = ahead_find(cache);
	}
	return fill ? &fill->item : NULL;
}

const struct work_ops request_work = {.perform = request_perform, .find = request_find};

static bool is_awaited(const struct waiter *head, uint64_t number)
{
	for (const struct waiter *w = head->next; w != head; w = w->next)
		if (number - w->request.extent < w->count)
			return true;
	return false;
}

bool cache_may_drop(struct cache *cache, uint64_t number)
{
	SCOPE_LOCK(&cache->lock);
	return !is_awaited(&cache->requests.parked, number) &&
	       !is_awaited(&cache->requests.starved, number) &&
	       !residency_has(cache->residency, number);
}

/* The one of that argument (NULL: any) that waits since then or longer. Lock held. */
static struct waiter *find_waiting(const struct requests *requests, const void *arg, uint64_t since)
{
	const struct waiter *heads[] = {&requests->starved, &requests->parked};

	for (unsigned i = 0; i < 2; i++)
		for (struct waiter *w = heads[i]->next; w != heads[i]; w = w->next)
			if ((!arg || w->request.arg == arg) && w->since <= since)
				return w;
	return NULL;
}

/* One that is parked goes when the last of its extents is in. Lock held. */
static void withdraw(struct cache *cache, struct waiter *waiter)
{
	wait_ended(cache, waiter);
	ring_remove(waiter);
	if (waiter->pending)
		waiter->cancelled = true;
	else
		free(waiter);
}

bool cache_cancel(struct cache *cache, const void *arg)
{
	struct waiter *waiter;

	SCOPE_LOCK(&cache->lock);
	waiter = find_waiting(&cache->requests, arg, UINT64_MAX);
	if (waiter)
		withdraw(cache, waiter);
	return waiter;
}

static bool take_overdue(struct cache *cache, uint64_t since, struct cache_request *ret)
{
	struct waiter *waiter;

	SCOPE_LOCK(&cache->lock);
	waiter = find_waiting(&cache->requests, NULL, since);
	if (!waiter)
		return false;
	*ret = waiter->request;
	cache->requests.given_up++;
	withdraw(cache, waiter);
	return true;
}

unsigned cache_give_up(struct cache *cache, uint64_t ns)
{
	uint64_t since = sub_sat(clock_ns(), ns);
	struct cache_request request;
	unsigned count = 0;

	for (; take_overdue(cache, since, &request); count++)
		request.done(request.arg, -ETIMEDOUT, NULL, 0);
	return count;
}
