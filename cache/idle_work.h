/* Work of a thread at idle priority (SCHED_IDLE) that gives way to whatever else wants a processor.
 *
 * Idle priority counts among the processes of a session (autogroup) or a control group; against
 * others, a daemon that works on all processors would have its share of them. So a thread looks,
 * now and then, at how long it was kept waiting for a processor, and sleeps where all of them are
 * wanted by others: it then takes 10 to 20 ms in 4.8 s, less than 1 %.
 *
 * Whoever may not raise priorities (RLIMIT_NICE is 0 for users) cannot leave SCHED_IDLE: what ends
 * goes on at idle priority. With four busy processes on two processors, a user's daemon was gone
 * 1.3 s after it was unmounted in the middle of a search. */
#ifndef CACHE_IDLE_WORK_H
#define CACHE_IDLE_WORK_H

#include <stdbool.h>
#include <stdint.h>

/* Of one thread, which alone uses it. */
struct idle_work {
	bool begun;
	int fd;		  /* of this thread's schedstat; -1: nothing is known */
	uint64_t looked;  /* ns */
	uint64_t delayed; /* ns that it waited for a processor until then */
	uint64_t rest;	  /* ns to sleep the next time */
	uint64_t free;	  /* ns without waiting, since it slept */
};

/* From here on, and until there, this thread has idle priority. Beginning twice is fine, and so is
 * ending what has not begun. */
void idle_work_begin(struct idle_work *work);
void idle_work_end(struct idle_work *work);

/* To be called each few milliseconds at most. Sleeps where others want the processors, until
 * `is_over` says that the work is. Does nothing unless begun. */
void idle_work_give(struct idle_work *work, bool (*is_over)(void *context), void *context);

#endif
