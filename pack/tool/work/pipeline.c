#include "pack/tool/work/pipeline.h"

#include "base/math.h"
#include "base/scope.h"
#include "base/signals.h"
#include <pthread.h>

/* A ring: numbers go up, and a number modulo slots is the place.
 *
 *	taken <= begun <= put <= taken + slots
 *
 * Items between taken and begun are being worked on or are done; those between begun and put wait.
 */
struct slot {
	void *item;
	uint64_t cost;
	uint64_t charged; /* protected by lock */
	bool done;	  /* protected by lock */
};

struct worker {
	struct pipeline *pipeline;
	pthread_t thread;
	uint64_t in_hand; /* number of its item; no other thread looks at it */
};

struct pipeline {
	struct pipeline_params params;
	struct slot *ring;
	struct worker *workers;
	unsigned started; /* of them */
	uint64_t taken;	  /* changed by the owner only, under the lock */
	uint64_t inside;  /* bytes; only the owner looks at it */

	pthread_mutex_t lock;
	pthread_cond_t more;  /* put > begun, or stop */
	pthread_cond_t ready; /* the oldest is done */
	pthread_cond_t room;  /* something was taken, or stop */
	uint64_t charged;     /* bytes of results; protected by lock */
	uint64_t put, begun;  /* protected by lock; put is changed by the owner only */
	uint64_t awaited;     /* the owner waits for this one; protected by lock */
	unsigned idle;	      /* threads that wait for more; protected by lock */
	bool stop;	      /* protected by lock */
};

#define NONE_AWAITED UINT64_MAX
#define ENOUGH_AHEAD 64 /* items, begun and not taken */
#define WORTH_WAKING 16 /* items, put and not begun */

static struct slot *slot_of(const struct pipeline *pipeline, uint64_t number)
{
	return pipeline->ring + number % pipeline->params.slots;
}

static void *work_on_items(void *argument)
{
	struct worker *worker = argument;
	struct pipeline *pipeline = worker->pipeline;
	const struct pipeline_params *params = &pipeline->params;
	struct slot *slot;

	pthread_mutex_lock(&pipeline->lock);
	for (;;) {
		while (pipeline->begun == pipeline->put && !pipeline->stop) {
			pipeline->idle++;
			pthread_cond_wait(&pipeline->more, &pipeline->lock);
			pipeline->idle--;
		}
		if (pipeline->stop)
			break;
		worker->in_hand = pipeline->begun++;
		slot = slot_of(pipeline, worker->in_hand);
		pthread_mutex_unlock(&pipeline->lock);
		params->work(params->context, (unsigned)(worker - pipeline->workers), slot->item);
		pthread_mutex_lock(&pipeline->lock);
		slot->done = true;
		if (pipeline->awaited == worker->in_hand)
			pthread_cond_signal(&pipeline->ready);
	}
	pthread_mutex_unlock(&pipeline->lock);
	return NULL;
}

int pipeline_new(const struct pipeline_params *params, struct pipeline **ret)
{
	struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
	int r = 0;

	if (!pipeline)
		return -ENOMEM;
	pipeline->params = *params;
	pipeline->awaited = NONE_AWAITED;
	pthread_mutex_init(&pipeline->lock, NULL);
	pthread_cond_init(&pipeline->more, NULL);
	pthread_cond_init(&pipeline->ready, NULL);
	pthread_cond_init(&pipeline->room, NULL);
	pipeline->ring = calloc(params->slots, sizeof(*pipeline->ring));
	pipeline->workers = calloc(params->workers, sizeof(*pipeline->workers));
	if (!pipeline->ring || !pipeline->workers)
		r = -ENOMEM;
	while (r == 0 && pipeline->started < params->workers) {
		struct worker *worker = &pipeline->workers[pipeline->started];

		worker->pipeline = pipeline;
		r = thread_without_signals(&worker->thread, work_on_items, worker);
		pipeline->started += r == 0;
	}
	/* Fewer threads than wanted are enough to go on. */
	if (r < 0 && pipeline->started == 0) {
		pipeline_free(pipeline);
		return r;
	}
	*ret = pipeline;
	return 0;
}

void pipeline_free(struct pipeline *pipeline)
{
	if (!pipeline)
		return;
	pthread_mutex_lock(&pipeline->lock);
	pipeline->stop = true;
	pthread_cond_broadcast(&pipeline->more);
	pthread_cond_broadcast(&pipeline->room);
	pthread_mutex_unlock(&pipeline->lock);
	for (unsigned i = 0; i < pipeline->started; i++)
		pthread_join(pipeline->workers[i].thread, NULL);
	for (uint64_t n = pipeline->taken; pipeline->params.drop && n < pipeline->put; n++)
		pipeline->params.drop(pipeline->params.context, slot_of(pipeline, n)->item);
	pthread_cond_destroy(&pipeline->room);
	pthread_cond_destroy(&pipeline->ready);
	pthread_cond_destroy(&pipeline->more);
	pthread_mutex_destroy(&pipeline->lock);
	free(pipeline->workers);
	free(pipeline->ring);
	free(pipeline);
}

bool pipeline_has_room(const struct pipeline *pipeline, uint64_t cost)
{
	const struct pipeline_params *params = &pipeline->params;
	uint64_t count = pipeline->put - pipeline->taken;
	bool few = count < params->least && pipeline->inside <= count * params->bytes;

	if (count == 0)
		return true;
	return count < params->slots && cost <= params->bytes &&
	       (few || pipeline->inside <= params->bytes - cost);
}

/* If the threads are faster than the owner, each item would wake one that falls asleep again before
 * the next item is put. As long as the owner has enough to take, they sleep until there are a few
 * items. When the owner has to wait, it wakes them for what there is. */
void pipeline_put(struct pipeline *pipeline, void *item, uint64_t cost)
{
	*slot_of(pipeline, pipeline->put) = (struct slot){.item = item, .cost = cost};
	pipeline->inside += cost;

	SCOPE_LOCK(&pipeline->lock);
	pipeline->put++;
	if (pipeline->idle && (pipeline->begun - pipeline->taken < ENOUGH_AHEAD ||
			       pipeline->put - pipeline->begun >= WORTH_WAKING))
		pthread_cond_signal(&pipeline->more);
}

/* The oldest item does not wait: everything that could make room comes after it. */
void pipeline_charge(struct pipeline *pipeline, unsigned worker, uint64_t bytes)
{
	uint64_t number = pipeline->workers[worker].in_hand;

	SCOPE_LOCK(&pipeline->lock);
	while (number != pipeline->taken && !pipeline->stop &&
	       pipeline->charged + bytes > pipeline->params.results)
		pthread_cond_wait(&pipeline->room, &pipeline->lock);
	slot_of(pipeline, number)->charged = bytes;
	pipeline->charged += bytes;
}

void *pipeline_take(struct pipeline *pipeline)
{
	const struct slot *slot = slot_of(pipeline, pipeline->taken);
	uint64_t waiting;

	if (pipeline->put == pipeline->taken)
		return NULL;
	SCOPE_LOCK(&pipeline->lock);
	waiting = min(pipeline->put - pipeline->begun, (uint64_t)pipeline->idle);
	for (uint64_t n = 0; !slot->done && n < waiting; n++)
		pthread_cond_signal(&pipeline->more);
	pipeline->awaited = pipeline->taken;
	while (!slot->done)
		pthread_cond_wait(&pipeline->ready, &pipeline->lock);
	pipeline->awaited = NONE_AWAITED;
	pipeline->inside -= slot->cost;
	pipeline->taken++;
	pipeline->charged -= slot->charged;
	/* Even if that made no room: the item that is the oldest now waits no longer. */
	pthread_cond_broadcast(&pipeline->room);
	return slot->item;
}
