#include "cache/idle_work.h"
#include "base/clock.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each LOOK_NS: where a thread waited for SHARE of the time, it sleeps, twice as long each time. A
 * thread that has slept runs at once, so that a look without waiting says little: not before
 * FREE_NS of them are there processors to spare. */
#define LOOK_NS	 10000000ull
#define SHARE	 0.25
#define LEAST_NS 300000000ull
#define MOST_NS	 4800000000ull
#define FREE_NS	 500000000ull
#define STEP_NS	 20000000l /* between two looks at whether to end */

static void set_policy(int policy)
{
	const struct sched_param none = {0};

	pthread_setschedparam(pthread_self(), policy, &none);
}

/* The second number: Documentation/scheduler/sched-stats.rst of the kernel. */
static uint64_t delayed_until_now(const struct idle_work *work)
{
	char text[96];
	ssize_t len = pread(work->fd, text, sizeof(text) - 1, 0);
	char *second;

	if (len <= 0)
		return 0;
	text[len] = '\0';
	second = strchr(text, ' ');
	return second ? strtoull(second, NULL, 10) : 0;
}

void idle_work_begin(struct idle_work *work)
{
	if (work->begun)
		return;
	set_policy(SCHED_IDLE);
	*work = (struct idle_work){.begun = true,
				   .fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC),
				   .looked = clock_ns(),
				   .rest = LEAST_NS};
	work->delayed = delayed_until_now(work);
}

void idle_work_end(struct idle_work *work)
{
	if (!work->begun)
		return;
	if (work->fd >= 0)
		close(work->fd);
	work->begun = false;
	set_policy(SCHED_OTHER);
}

static void take_rest(struct idle_work *work, bool (*is_over)(void *context), void *context)
{
	const struct timespec step = {.tv_nsec = STEP_NS};
	uint64_t end = clock_ns() + work->rest;

	while (clock_ns() < end && !is_over(context))
		nanosleep(&step, NULL);
	if (work->rest < MOST_NS)
		work->rest *= 2;
	work->free = 0;
}

void idle_work_give(struct idle_work *work, bool (*is_over)(void *context), void *context)
{
	uint64_t now = clock_ns(), delayed;

	if (!work->begun || work->fd < 0 || now - work->looked < LOOK_NS)
		return;
	delayed = delayed_until_now(work) - work->delayed;
	if ((double)delayed > SHARE * (double)(now - work->looked))
		take_rest(work, is_over, context);
	else if ((work->free += now - work->looked) > FREE_NS)
		work->rest = LEAST_NS;
	work->delayed = delayed_until_now(work);
	work->looked = clock_ns();
}
