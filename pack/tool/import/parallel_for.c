#include "pack/tool/import/parallel_for.h"

#include "base/clock.h"
#include "base/scope.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct parallel_for {
	struct parallel_for_params params;
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

static bool do_next(struct parallel_for *parallel)
{
	size_t number = atomic_fetch_add_explicit(&parallel->next, 1, memory_order_relaxed);

	if (number >= parallel->count)
		return false;
	parallel->params.work(parallel->params.context, number);
	return true;
}

static void *helper_run(void *argument)
{
	struct parallel_for *parallel = argument;
	uint64_t answered = 0;

	pthread_mutex_lock(&parallel->lock);
	for (;;) {
		while (parallel->call == answered && !parallel->stop)
			pthread_cond_wait(&parallel->more, &parallel->lock);
		if (parallel->stop)
			break;
		answered = parallel->call;
		pthread_mutex_unlock(&parallel->lock);
		while (do_next(parallel))
			;
		pthread_mutex_lock(&parallel->lock);
		if (--parallel->busy == 0)
			pthread_cond_signal(&parallel->done);
	}
	pthread_mutex_unlock(&parallel->lock);
	return NULL;
}

/* All of them are made before the first call, since each answers each call. */
static void start_helpers(struct parallel_for *parallel)
{
	while (parallel->started + 1 < parallel->params.threads &&
	       pthread_create(&parallel->helpers[parallel->started], NULL, helper_run, parallel) ==
		       0)
		parallel->started++;
	/* Fewer are enough to go on with, none to be asked for again. */
	parallel->params.threads = parallel->started + 1;
}

static void call_helpers(struct parallel_for *parallel)
{
	parallel->called = true;
	start_helpers(parallel);

	SCOPE_LOCK(&parallel->lock);
	parallel->busy = parallel->started;
	parallel->call++;
	pthread_cond_broadcast(&parallel->more);
}

static void wait_for_helpers(struct parallel_for *parallel)
{
	SCOPE_LOCK(&parallel->lock);
	while (parallel->busy > 0)
		pthread_cond_wait(&parallel->done, &parallel->lock);
}

void parallel_for_run(struct parallel_for *parallel, size_t count)
{
	uint64_t began = clock_ns(), ended;

	parallel->count = count;
	parallel->called = parallel->params.threads == 1;
	atomic_store(&parallel->next, 0);
	while (do_next(parallel)) {
		if (parallel->called)
			continue;
		ended = clock_ns();
		if (ended - began > parallel->params.patience_ns &&
		    atomic_load(&parallel->next) + 1 < count)
			call_helpers(parallel);
		began = ended;
	}
	wait_for_helpers(parallel);
}

int parallel_for_new(const struct parallel_for_params *params, struct parallel_for **ret)
{
	struct parallel_for *parallel = calloc(1, sizeof(*parallel));

	if (parallel)
		parallel->helpers = calloc(params->threads, sizeof(*parallel->helpers));
	if (!parallel || !parallel->helpers) {
		free(parallel);
		return -ENOMEM;
	}
	parallel->params = *params;
	pthread_mutex_init(&parallel->lock, NULL);
	pthread_cond_init(&parallel->more, NULL);
	pthread_cond_init(&parallel->done, NULL);
	*ret = parallel;
	return 0;
}

static void stop_helpers(struct parallel_for *parallel)
{
	SCOPE_LOCK(&parallel->lock);
	parallel->stop = true;
	pthread_cond_broadcast(&parallel->more);
}

void parallel_for_free(struct parallel_for *parallel)
{
	if (!parallel)
		return;
	stop_helpers(parallel);
	for (unsigned i = 0; i < parallel->started; i++)
		pthread_join(parallel->helpers[i], NULL);
	pthread_cond_destroy(&parallel->done);
	pthread_cond_destroy(&parallel->more);
	pthread_mutex_destroy(&parallel->lock);
	free(parallel->helpers);
	free(parallel);
}
