/* Waiting for what comes sooner or later, but not for ever. */
#pragma once

#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#ifndef PATIENCE
#define PATIENCE 60 /* s, until a test fails that would hang */
#endif

static inline struct timespec patience(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE;
	return until;
}

/* Asks until `condition`. Evaluates to whether it came true. Who asks leaves the processor to those
 * who are asked. */
#define poll_until(condition)                                                  \
	({                                                                     \
		struct timespec until_ = patience(), now_ = {0};               \
		bool met_;                                                     \
		while (!(met_ = (condition)) && now_.tv_sec < until_.tv_sec) { \
			usleep(100);                                           \
			clock_gettime(CLOCK_REALTIME, &now_);                  \
		}                                                              \
		met_;                                                          \
	})
