#include "base/workers.h"
#include "base/clock.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/signals.h"

void workers_init(struct workers *workers, unsigned most, workers_step_fn *step, void *context)
{
	*workers = (struct workers){.step = step, .context = context, .most = most};
	pthread_mutex_init(&workers->lock, NULL);
	clock_cond_init(&workers->changed);
}

void workers_release(struct workers *workers)
{
	workers_rest(workers);
	pthread_cond_destroy(&workers->changed);
	pthread_mutex_destroy(&workers->lock);
}

/* One thread is enough to wait for `later`. */
static void await_change(struct workers *workers)
{
	struct timespec later;

	if (workers->timed || !workers->later) {
		pthread_cond_wait(&workers->changed, &workers->lock);
		return;
	}
	later = clock_after(sub_sat(workers->later, clock_ns()));
	workers->timed = true;
	pthread_cond_timedwait(&workers->changed, &workers->lock, &later);
	workers->timed = false;
}

static void *workers_thread(void *arg)
{
	struct workers *workers = arg;

	SCOPE_LOCK(&workers->lock);
	for (;;) {
		bool did = workers->step(workers->context);

		if (!did && workers->stopping)
			return NULL;
		if (!did)
			await_change(workers);
	}
}

int workers_begin(struct workers *workers)
{
	int r = 0;

	while (r == 0 && workers->started < workers->most) {
		r = thread_without_signals(&workers->threads[workers->started], workers_thread,
					   workers);
		workers->started += r == 0;
	}
	return r;
}

void workers_rest(struct workers *workers)
{
	pthread_mutex_lock(&workers->lock);
	workers->stopping = true;
	pthread_cond_broadcast(&workers->changed);
	pthread_mutex_unlock(&workers->lock);
	while (workers->started)
		pthread_join(workers->threads[--workers->started], NULL);
	workers->stopping = false;
}
