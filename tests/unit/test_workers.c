/* Threads that begin and end with what there is to do: base/workers.h. */
#include "base/clock.h"
#include "base/scope.h"
#include "base/workers.h"
#include "tests/unit/test.h"
#include <sched.h>

struct counted {
	struct workers workers;
	unsigned left, done; /* protected by their lock */
};

static bool count_one(void *context)
{
	struct counted *counted = context;

	if (counted->left == 0)
		return false;
	counted->left--;
	pthread_mutex_unlock(&counted->workers.lock);
	sched_yield();
	pthread_mutex_lock(&counted->workers.lock);
	counted->done++;
	return true;
}

static void add(struct counted *counted, unsigned count)
{
	SCOPE_LOCK(&counted->workers.lock);
	assert_int_equal(workers_begin(&counted->workers), 0);
	counted->left += count;
	pthread_cond_signal(&counted->workers.changed);
}

TEST(all_is_done_before_they_end_and_they_begin_again)
{
	struct counted counted = {0};

	workers_init(&counted.workers, 8, count_one, &counted);
	workers_rest(&counted.workers);
	for (unsigned i = 1; i <= 3; i++) {
		for (unsigned n = 0; n < 100; n++)
			add(&counted, 10);
		assert_int_equal(counted.workers.started, 8);
		workers_rest(&counted.workers);
		assert_int_equal(counted.workers.started, 0);
		assert_int_equal(counted.done, i * 1000);
	}
	workers_release(&counted.workers);
}

/* Finds nothing when it is asked first, and nobody tells it of more. */
static bool do_later(void *context)
{
	struct counted *counted = context;

	if (counted->left-- == 2) {
		counted->workers.later = clock_ns() + CLOCK_SECOND / 100;
		return false;
	}
	counted->workers.later = 0;
	counted->done++;
	pthread_cond_broadcast(&counted->workers.changed);
	return false;
}

TEST(what_is_due_later_needs_nobody_to_tell_of_it)
{
	struct counted counted = {.left = 2};

	workers_init(&counted.workers, 1, do_later, &counted);
	pthread_mutex_lock(&counted.workers.lock);
	assert_int_equal(workers_begin(&counted.workers), 0);
	while (counted.done == 0)
		pthread_cond_wait(&counted.workers.changed, &counted.workers.lock);
	pthread_mutex_unlock(&counted.workers.lock);
	workers_release(&counted.workers);
}
