/* The line is a list that is threaded through one array, an item an extent. To leave from the
 * middle it would need links both ways; instead an extent that is reported again is marked, and
 * goes to the end when it has come to the front: a second chance, as in the clock algorithm. It
 * still counts once, so that what lags behind stays bounded all the same. */
#include "fs/drop.h"
#include "base/scope.h"
#include <stdbool.h>

struct item {
	uint32_t next;	     /* the next newer, as its number + 1; 0: the newest */
	uint32_t bytes : 31; /* 0: not in line */
	uint32_t again : 1;
};

/* A thread is woken for a batch instead of each extent: it drops this share of all that may lag
 * behind. */
#define BATCH 8

/* One is enough while processors are idle. Where readers take them all (load 8 on 2), one thread
 * fell 5,500 files behind, two 1,100, four 750. The others sleep until the line is too long in
 * spite of the first. */
#define DROP_THREADS 4

struct drop {
	drop_fn *run;
	void *context;
	uint64_t budget;
	pthread_t threads[DROP_THREADS];
	unsigned started;

	pthread_mutex_t lock;
	pthread_cond_t wake; /* there is too much in line, or stopping */
	/* protected by lock */
	struct item *items;
	uint32_t oldest, newest; /* numbers + 1; 0: none */
	uint64_t count, bytes;	 /* of the line */
	bool stopping;
};

int drop_new(uint64_t extents, uint64_t budget, drop_fn *run, void *context, struct drop **ret)
{
	struct drop *drop;

	if (extents >= UINT32_MAX)
		return -EOVERFLOW;
	drop = calloc(1, sizeof(*drop));
	if (!drop)
		return -ENOMEM;
	pthread_mutex_init(&drop->lock, NULL);
	pthread_cond_init(&drop->wake, NULL);
	drop->run = run;
	drop->context = context;
	drop->budget = budget;
	drop->items = calloc(extents + 1, sizeof(*drop->items));
	if (!drop->items) {
		drop_free(drop);
		return -ENOMEM;
	}
	*ret = drop;
	return 0;
}

void drop_free(struct drop *drop)
{
	if (!drop)
		return;
	pthread_cond_destroy(&drop->wake);
	pthread_mutex_destroy(&drop->lock);
	free(drop->items);
	free(drop);
}

/* --- the line; lock held --------------------------------------------------------------------- */

static void append(struct drop *drop, uint64_t extent)
{
	uint32_t link = (uint32_t)extent + 1;

	drop->items[extent].next = 0;
	if (drop->newest)
		drop->items[drop->newest - 1].next = link;
	else
		drop->oldest = link;
	drop->newest = link;
	drop->count++;
	drop->bytes += drop->items[extent].bytes;
}

static uint64_t take_oldest(struct drop *drop)
{
	uint64_t extent = drop->oldest - 1;

	drop->oldest = drop->items[extent].next;
	if (!drop->oldest)
		drop->newest = 0;
	drop->count--;
	drop->bytes -= drop->items[extent].bytes;
	return extent;
}

static bool too_much(const struct drop *drop)
{
	return drop->count > DROP_EXTENTS || drop->bytes > drop->budget;
}

static bool batch_left(const struct drop *drop)
{
	return drop->count > DROP_EXTENTS - DROP_EXTENTS / BATCH ||
	       drop->bytes > drop->budget - drop->budget / BATCH;
}

/* --- the threads ----------------------------------------------------------------------------- */

/* What is reported while it is being dropped stands in line anew. The lock is given back after
 * each, so that a long line of second chances keeps nobody. */
static void drop_oldest(struct drop *drop)
{
	uint64_t extent = take_oldest(drop);
	struct item *item = &drop->items[extent];
	bool again = item->again;

	item->again = false;
	if (again)
		append(drop, extent);
	else
		item->bytes = 0;
	pthread_mutex_unlock(&drop->lock);
	if (!again)
		drop->run(drop->context, extent);
	pthread_mutex_lock(&drop->lock);
}

static void *drop_thread(void *arg)
{
	struct drop *drop = arg;

	SCOPE_LOCK(&drop->lock);
	while (!drop->stopping) {
		while (!too_much(drop) && !drop->stopping)
			pthread_cond_wait(&drop->wake, &drop->lock);
		while (batch_left(drop) && !drop->stopping)
			drop_oldest(drop);
	}
	return NULL;
}

int drop_start(struct drop *drop)
{
	while (drop->started < DROP_THREADS) {
		int r = pthread_create(&drop->threads[drop->started], NULL, drop_thread, drop);

		if (r != 0) {
			drop_stop(drop);
			return -r;
		}
		drop->started++;
	}
	return 0;
}

void drop_stop(struct drop *drop)
{
	pthread_mutex_lock(&drop->lock);
	drop->stopping = true;
	pthread_cond_broadcast(&drop->wake);
	pthread_mutex_unlock(&drop->lock);
	while (drop->started)
		pthread_join(drop->threads[--drop->started], NULL);
}

/* --- reports --------------------------------------------------------------------------------- */

void drop_behind(struct drop *drop, uint64_t extent, uint32_t bytes)
{
	struct item *item = &drop->items[extent];

	SCOPE_LOCK(&drop->lock);
	if (item->bytes) {
		item->again = true;
		return;
	}
	item->bytes = bytes & INT32_MAX;
	append(drop, extent);
	if (too_much(drop))
		pthread_cond_signal(&drop->wake);
}
