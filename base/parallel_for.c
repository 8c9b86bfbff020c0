#include "base/parallel_for.h"

#include "base/clock.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define HELPERS_MOST 255

struct loop {
	const struct parallel_for *parallel;
	atomic_size_t next;
	size_t count;
};

static bool do_next(struct loop *loop)
{
	size_t number = atomic_fetch_add_explicit(&loop->next, 1, memory_order_relaxed);

	if (number >= loop->count)
		return false;
	loop->parallel->work(loop->parallel->context, number);
	return true;
}

static void *do_all(void *loop)
{
	while (do_next(loop))
		;
	return NULL;
}

/* Starts as many as can be made, are allowed, and have something to do. */
static unsigned start_helpers(struct loop *loop, pthread_t *helpers)
{
	size_t left = loop->count - atomic_load(&loop->next);
	unsigned started = 0;

	while (started < HELPERS_MOST && started < left && started + 1 < loop->parallel->threads &&
	       pthread_create(&helpers[started], NULL, do_all, loop) == 0)
		started++;
	return started;
}

void parallel_for_run(const struct parallel_for *parallel, size_t count)
{
	struct loop loop = {.parallel = parallel, .count = count};
	pthread_t helpers[HELPERS_MOST];
	uint64_t began = clock_ns(), ended;
	unsigned started = 0;

	while (do_next(&loop)) {
		ended = clock_ns();
		if (ended - began > parallel->patience_ns && atomic_load(&loop.next) + 1 < count) {
			started = start_helpers(&loop, helpers);
			do_all(&loop);
		}
		began = ended;
	}
	while (started > 0)
		pthread_join(helpers[--started], NULL);
}
