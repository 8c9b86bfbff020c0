/* What searches take of the processors: one rule.
 *
 *	saved: something at first; 1 % of the processors' time is added, up to a limit
 *
 *	a search begins --> normal priority --nothing is saved--> idle priority (SCHED_IDLE)
 *	                    takes what it uses                    takes what it waits for
 *	                                                            |            ^
 *	                                         more than was saved|            |saved again
 *	                                                            v            |
 *	                                                              it sleeps
 *
 * A thread of idle priority that waits for a processor shows that others want it. Idle priority
 * counts among the threads of a session (autogroup) or control group; against others, it has a
 * share like theirs, and so uses about as much as it waits for: 1 % of the processors where they
 * want all of them, and all of one where they leave that free.
 *
 * Whoever may not raise priorities (RLIMIT_NICE is 0 for users) cannot leave SCHED_IDLE: hence no
 * search does before its end. With four busy processes on two processors, a user's daemon was gone
 * 1.3 s after it was unmounted in the middle of a search. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define IDLE_WORK_SAVED ((int64_t)200000000) /* ns, usually; at most so much may be owed */

/* Of searches that follow one another, each on a thread of its own. */
struct idle_work {
	int processors;	   /* that this process may run on */
	int64_t saved;	   /* ns; below 0: it is to sleep */
	int64_t most;	   /* that may be saved */
	uint64_t measured; /* ns: that was true then, */
	uint64_t used;	   /* and its thread had used so much of a processor */
	bool idle;	   /* that thread has idle priority */
};

/* With so much that is saved, and at most. */
void idle_work_init(struct idle_work *work, int64_t saved, int64_t most);

/* A search begins and ends on this thread, which had the normal priority before. */
void idle_work_begin(struct idle_work *work);
void idle_work_end(struct idle_work *work);

/* To be called each few milliseconds. Sleeps until the rule allows more, or `over` says that the
 * search is. */
void idle_work_give(struct idle_work *work, bool (*over)(void *context), void *context);
