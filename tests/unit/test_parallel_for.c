/* Many small things, in one thread or several: base/parallel_for.h. */
#include "base/parallel_for.h"
#include "tests/unit/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define COUNT 1000

struct trace {
	atomic_uint times[COUNT];
	atomic_bool elsewhere; /* in a thread that is not the caller's */
	pthread_t caller;
	pthread_barrier_t meeting;
	size_t meet_from; /* those from here on go on two at a time */
};

static void work(void *context, size_t number)
{
	struct trace *trace = context;

	atomic_fetch_add(&trace->times[number], 1);
	if (!pthread_equal(pthread_self(), trace->caller))
		atomic_store(&trace->elsewhere, true);
	if (number >= trace->meet_from)
		pthread_barrier_wait(&trace->meeting);
}

static void run(struct trace *trace, unsigned threads, uint64_t patience_ns, unsigned runs)
{
	const struct parallel_for parallel = {
		.threads = threads, .patience_ns = patience_ns, .work = work, .context = trace};

	trace->caller = pthread_self();
	for (unsigned i = 0; i < runs; i++)
		parallel_for_run(&parallel, COUNT);
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(atomic_load(&trace->times[i]), runs);
}

TEST(what_is_quick_or_for_one_thread_is_done_by_the_caller_alone)
{
	struct trace quick = {.meet_from = COUNT}, one = quick;

	run(&quick, 8, UINT64_MAX, 3);
	run(&one, 1, 0, 3);
	assert_false(quick.elsewhere || one.elsewhere);
}

/* Hangs where one thread has to do all. */
TEST(what_takes_long_is_done_by_several_at_once)
{
	struct trace trace = {.meet_from = 2};

	pthread_barrier_init(&trace.meeting, NULL, 2);
	run(&trace, 2, 0, 3);
	assert_true(trace.elsewhere);
	pthread_barrier_destroy(&trace.meeting);
}

TEST(each_is_done_once_by_many_threads)
{
	struct trace trace = {.meet_from = COUNT};

	run(&trace, 16, 0, 100);
}

TEST(nothing_to_do_is_done)
{
	const struct parallel_for parallel = {.threads = 4, .work = work};

	parallel_for_run(&parallel, 0);
}
