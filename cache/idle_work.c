#include "cache/idle_work.h"
#include "base/clock.h"
#include <pthread.h>
#include <sched.h>

#define PART	   100	    /* of the processors' time is saved */
#define MEASURE_NS 10000000 /* between two measurements of what was used */
#define STEP_NS	   20000000 /* of sleep, until it is asked again whether it is over */

static uint64_t processor_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * CLOCK_SECOND + (uint64_t)now.tv_nsec;
}

/* `counts`: what its thread used or waited for meanwhile. */
static void account(struct idle_work *work, bool counts)
{
	uint64_t now = clock_ns(), used = processor_ns();
	int64_t passed = (int64_t)(now - work->measured), ran = (int64_t)(used - work->used);
	int64_t taken = work->idle ? passed - ran : ran;

	work->saved += passed * work->processors / PART - (counts ? taken : 0);
	if (work->saved > work->most)
		work->saved = work->most;
	if (work->saved < -IDLE_WORK_SAVED)
		work->saved = -IDLE_WORK_SAVED;
	work->measured = now;
	work->used = used;
}

/* It fails if the machine has more processors than the set has room for. */
static int processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : CPU_SETSIZE;
}

void idle_work_init(struct idle_work *work, int64_t saved, int64_t most)
{
	*work = (struct idle_work){
		.processors = processors(), .saved = saved, .most = most, .measured = clock_ns()};
}

static void set_idle(struct idle_work *work, bool idle)
{
	const struct sched_param none = {0};

	if (idle != work->idle)
		pthread_setschedparam(pthread_self(), idle ? SCHED_IDLE : SCHED_OTHER, &none);
	work->idle = idle;
}

void idle_work_begin(struct idle_work *work)
{
	account(work, false);
	set_idle(work, work->saved <= 0);
}

void idle_work_end(struct idle_work *work)
{
	account(work, true);
	set_idle(work, false);
}

void idle_work_give(struct idle_work *work, bool (*over)(void *context), void *context)
{
	const struct timespec step = {.tv_nsec = STEP_NS};

	if (work->saved >= 0 && clock_ns() - work->measured < MEASURE_NS)
		return;
	account(work, true);
	if (!work->idle && work->saved <= 0) {
		set_idle(work, true);
		work->saved = 0; /* it may have gone on until now */
	}
	while (work->saved < 0 && !over(context)) {
		nanosleep(&step, NULL);
		account(work, false);
	}
}
