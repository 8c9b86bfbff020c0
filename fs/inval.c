/* The queue is a list in one array, with an item for each extent. An extent that is reported again
 * is marked, and goes to the end when it reaches the front: a second chance, as in the clock
 * algorithm. Moving it at once would take links in both directions. It counts once, so the lag
 * stays bounded. */
#include "fs/inval.h"
#include "base/scope.h"
#include <stdbool.h>

struct inval_item {
	uint32_t next;	     /* the next newer, as its number + 1; 0: the newest */
	uint32_t bytes : 31; /* 0: not in the queue */
	uint32_t again : 1;
};

/* A thread is woken for a batch, not for each extent. A batch is this part of the greatest lag: an
 * eighth. */
#define BATCH 8

/* One thread is enough while processors are idle. With readers on all of them (load 8 on 2), the
 * lag was 5,500 files with one thread, 1,100 with two, 750 with four. The other threads sleep until
 * the queue is too long for the first. */
#define INVAL_THREADS 4

struct inval {
	inval_fn *run;
	void *context;
	uint64_t budget;
	pthread_t threads[INVAL_THREADS];
	unsigned started;

	pthread_mutex_t lock;
	pthread_cond_t wake; /* the queue is too long, or stopping */
	/* protected by lock */
	struct inval_item *items;
	uint32_t oldest, newest; /* numbers + 1; 0: none */
	uint64_t count, bytes;	 /* of the queue */
	bool stopping;
};

int inval_new(uint64_t extents, uint64_t budget, inval_fn *run, void *context, struct inval **ret)
{
	struct inval *inval;

	if (extents >= UINT32_MAX)
		return -EOVERFLOW;
	inval = calloc(1, sizeof(*inval));
	if (!inval)
		return -ENOMEM;
	pthread_mutex_init(&inval->lock, NULL);
	pthread_cond_init(&inval->wake, NULL);
	inval->run = run;
	inval->context = context;
	inval->budget = budget;
	inval->items = calloc(extents + 1, sizeof(*inval->items));
	if (!inval->items) {
		inval_free(inval);
		return -ENOMEM;
	}
	*ret = inval;
	return 0;
}

void inval_free(struct inval *inval)
{
	if (!inval)
		return;
	pthread_cond_destroy(&inval->wake);
	pthread_mutex_destroy(&inval->lock);
	free(inval->items);
	free(inval);
}

/* --- the queue; lock held -------------------------------------------------------------------- */

static void queue_append(struct inval *inval, uint64_t extent)
{
	uint32_t link = (uint32_t)extent + 1;

	inval->items[extent].next = 0;
	if (inval->newest)
		inval->items[inval->newest - 1].next = link;
	else
		inval->oldest = link;
	inval->newest = link;
	inval->count++;
	inval->bytes += inval->items[extent].bytes;
}

/* Whether the queue is longer than the greatest lag, less a part of it. */
static bool lags(const struct inval *inval, uint64_t extents, uint64_t bytes)
{
	return inval->count > INVAL_EXTENTS - extents || inval->bytes > inval->budget - bytes;
}

/* --- the threads ----------------------------------------------------------------------------- */

/* An extent that is reported while it is dropped is queued again. The lock is released after each
 * extent, so that many second chances in a row do not hold up reporters. */
static void inval_oldest(struct inval *inval)
{
	uint64_t extent = inval->oldest - 1;
	struct inval_item *item = &inval->items[extent];
	bool again = item->again;

	inval->oldest = item->next;
	if (!inval->oldest)
		inval->newest = 0;
	inval->count--;
	inval->bytes -= item->bytes;
	item->again = false;
	if (again)
		queue_append(inval, extent);
	else
		item->bytes = 0;
	pthread_mutex_unlock(&inval->lock);
	if (!again)
		inval->run(inval->context, extent);
	pthread_mutex_lock(&inval->lock);
}

static void *inval_thread(void *arg)
{
	struct inval *inval = arg;

	SCOPE_LOCK(&inval->lock);
	while (!inval->stopping) {
		while (!lags(inval, 0, 0) && !inval->stopping)
			pthread_cond_wait(&inval->wake, &inval->lock);
		while (lags(inval, INVAL_EXTENTS / BATCH, inval->budget / BATCH) &&
		       !inval->stopping)
			inval_oldest(inval);
	}
	return NULL;
}

int inval_start(struct inval *inval)
{
	while (inval->started < INVAL_THREADS) {
		int r = pthread_create(&inval->threads[inval->started], NULL, inval_thread, inval);

		if (r != 0) {
			inval_stop(inval);
			return -r;
		}
		inval->started++;
	}
	return 0;
}

void inval_stop(struct inval *inval)
{
	pthread_mutex_lock(&inval->lock);
	inval->stopping = true;
	pthread_cond_broadcast(&inval->wake);
	pthread_mutex_unlock(&inval->lock);
	while (inval->started)
		pthread_join(inval->threads[--inval->started], NULL);
}

/* --- reports --------------------------------------------------------------------------------- */

void inval_add(struct inval *inval, uint64_t extent, uint32_t bytes)
{
	struct inval_item *item = &inval->items[extent];

	SCOPE_LOCK(&inval->lock);
	if (item->bytes) {
		item->again = true;
		return;
	}
	item->bytes = bytes & INT32_MAX;
	queue_append(inval, extent);
	if (lags(inval, 0, 0))
		pthread_cond_signal(&inval->wake);
}
