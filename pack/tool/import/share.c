#include "pack/tool/import/share.h"

#include "base/clock.h"
#include "base/scope.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct share {
	struct share_params params;
	pthread_t *helpers;
	unsigned started; /* helpers; the caller's own */
	bool called;	  /* helpers, for this run; the caller's own */
	atomic_size_t next;
	size_t count; /* changes only while no helper is busy */

	pthread_mutex_t lock;
	pthread_cond_t more; /* a call, or stop */
	pthread_cond_t done; /* busy == 0 */
	uint64_t call;	     /* a number for each; protected by lock */
	unsigned busy;	     /* helpers that have not come back; protected by lock */
	bool stop;	     /* protected by lock */
};

static bool do_next(struct share *share)
{
	size_t number = atomic_fetch_add_explicit(&share->next, 1, memory_order_relaxed);

	if (number >= share->count)
		return false;
	share->params.work(share->params.context, number);
	return true;
}

static void *help(void *argument)
{
	struct share *share = argument;
	uint64_t answered = 0;

	pthread_mutex_lock(&share->lock);
	for (;;) {
		while (share->call == answered && !share->stop)
			pthread_cond_wait(&share->more, &share->lock);
		if (share->stop)
			break;
		answered = share->call;
		pthread_mutex_unlock(&share->lock);
		while (do_next(share))
			;
		pthread_mutex_lock(&share->lock);
		if (--share->busy == 0)
			pthread_cond_signal(&share->done);
	}
	pthread_mutex_unlock(&share->lock);
	return NULL;
}

/* All of them are made before the first call, since each answers each call. */
static void start(struct share *share)
{
	while (share->started + 1 < share->params.threads &&
	       pthread_create(&share->helpers[share->started], NULL, help, share) == 0)
		share->started++;
	/* Fewer are enough to go on with, none to be asked for again. */
	share->params.threads = share->started + 1;
}

static void call(struct share *share)
{
	share->called = true;
	start(share);

	SCOPE_LOCK(&share->lock);
	share->busy = share->started;
	share->call++;
	pthread_cond_broadcast(&share->more);
}

static void wait_for_helpers(struct share *share)
{
	SCOPE_LOCK(&share->lock);
	while (share->busy > 0)
		pthread_cond_wait(&share->done, &share->lock);
}

void share_run(struct share *share, size_t count)
{
	uint64_t began = clock_ns(), ended;

	share->count = count;
	share->called = share->params.threads == 1;
	atomic_store(&share->next, 0);
	while (do_next(share)) {
		if (share->called)
			continue;
		ended = clock_ns();
		if (ended - began > share->params.patience_ns &&
		    atomic_load(&share->next) + 1 < count)
			call(share);
		began = ended;
	}
	wait_for_helpers(share);
}

int share_new(const struct share_params *params, struct share **ret)
{
	struct share *share = calloc(1, sizeof(*share));

	if (share)
		share->helpers = calloc(params->threads, sizeof(*share->helpers));
	if (!share || !share->helpers) {
		free(share);
		return -ENOMEM;
	}
	share->params = *params;
	pthread_mutex_init(&share->lock, NULL);
	pthread_cond_init(&share->more, NULL);
	pthread_cond_init(&share->done, NULL);
	*ret = share;
	return 0;
}

static void stop(struct share *share)
{
	SCOPE_LOCK(&share->lock);
	share->stop = true;
	pthread_cond_broadcast(&share->more);
}

void share_free(struct share *share)
{
	if (!share)
		return;
	stop(share);
	for (unsigned i = 0; i < share->started; i++)
		pthread_join(share->helpers[i], NULL);
	pthread_cond_destroy(&share->done);
	pthread_cond_destroy(&share->more);
	pthread_mutex_destroy(&share->lock);
	free(share->helpers);
	free(share);
}
