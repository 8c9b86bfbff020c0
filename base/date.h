/* A point of time in 64 bits: nanoseconds since 1970. Times before 1677 and after 2262 become the
 * nearest one that fits. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline int64_t date_of(struct timespec time)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)time.tv_sec, 1000000000, &ns) ||
	    __builtin_add_overflow(ns, time.tv_nsec, &ns))
		return time.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

static inline struct timespec date_time(int64_t date)
{
	const int64_t second = 1000000000;

	return (struct timespec){.tv_sec = date / second - (date % second < 0),
				 .tv_nsec = (date % second + second) % second};
}
