/* Time that only goes forward. */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define CLOCK_SECOND ((uint64_t)1000000000)

/* Nanoseconds. */
static inline uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * CLOCK_SECOND + (uint64_t)now.tv_nsec;
}

static inline double clock_seconds(void)
{
	return (double)clock_ns() / CLOCK_SECOND;
}

/* A condition whose pthread_cond_timedwait() takes what clock_after() gives. */
static inline void clock_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

/* The time `ns` nanoseconds from now. */
static inline struct timespec clock_after(uint64_t ns)
{
	uint64_t then = clock_ns() + ns;

	return (struct timespec){.tv_sec = (time_t)(then / CLOCK_SECOND),
				 .tv_nsec = (long)(then % CLOCK_SECOND)};
}
