/* What the calls of a job mean, whose paths lead into a pack: one table of calls, and an answer for
 * each as a read-only mount would give it. What does not concern the pack is passed on. */
#pragma once

#include "fs/nofuse/call.h"

/* The numbers of the calls that are answered. Returns how many. */
#define CALLS_MAX 100
size_t calls_listed(uint32_t ret[static CALLS_MAX]);

/* Answers a call, or passes it on. Any thread; `waits` is called, at most once, before what takes
 * long. */
void calls_answer(const struct answers *answers, const struct asked *asked,
		  void (*waits)(void *context), void *context);
