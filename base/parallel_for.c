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

void parallel_for_run(const struct parallel_for *parallel, size_t count)
{
	struct loop loop = {.parallel = parallel, .count = count};
	pthread_t helpers[HELPERS_MOST];
	uint64_t began = clock_ns(), ended;
	unsigned started = 0;

	while (do_next(&loop)) {
		size_t next = atomic_load(&loop.next);

		ended = clock_ns();
		if (ended - began > parallel->patience_ns && next + 1 < count) {
			/* As many as can be made, are allowed, and have something to do. */
			while (started < HELPERS_MOST && started < count - next &&
			       started + 1 < parallel->threads &&
			       pthread_create(&helpers[started], NULL, do_all, &loop) == 0)
				started++;
			do_all(&loop);
		}
		began = ended;
	}
	while (started > 0)
		pthread_join(helpers[--started], NULL);
}
