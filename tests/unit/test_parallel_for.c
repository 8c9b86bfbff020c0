/* Many small things, in one thread or several: base/parallel_for.h. */
#include "base/parallel_for.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

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

static void what_is_quick_is_done_by_the_caller_alone(void **state)
{
	struct trace trace = {.meet_from = COUNT};

	(void)state;
	run(&trace, 8, UINT64_MAX, 3);
	assert_false(trace.elsewhere);
}

static void one_thread_is_the_caller(void **state)
{
	struct trace trace = {.meet_from = COUNT};

	(void)state;
	run(&trace, 1, 0, 3);
	assert_false(trace.elsewhere);
}

/* Hangs where one thread has to do all. */
static void what_takes_long_is_done_by_several_at_once(void **state)
{
	struct trace trace = {.meet_from = 2};

	(void)state;
	pthread_barrier_init(&trace.meeting, NULL, 2);
	run(&trace, 2, 0, 3);
	assert_true(trace.elsewhere);
	pthread_barrier_destroy(&trace.meeting);
}

static void each_is_done_once_by_many_threads(void **state)
{
	struct trace trace = {.meet_from = COUNT};

	(void)state;
	run(&trace, 16, 0, 100);
}

static void nothing_to_do_is_done(void **state)
{
	const struct parallel_for parallel = {.threads = 4, .work = work};

	(void)state;
	parallel_for_run(&parallel, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_quick_is_done_by_the_caller_alone),
		cmocka_unit_test(one_thread_is_the_caller),
		cmocka_unit_test(what_takes_long_is_done_by_several_at_once),
		cmocka_unit_test(each_is_done_once_by_many_threads),
		cmocka_unit_test(nothing_to_do_is_done),
	};

	return cmocka_run_group_tests_name("parallel", tests, NULL, NULL);
}
