/* From the extents that a forecast wants to runs, each of which one read brings: as an elevator
 * stops for calls on its way.
 *
 *	|     block     |     block     |     block     |	nearly budget->run bytes each
 *	   w ww   w             w          w w      ww w	wanted
 *	   [------]             []         [-]      [----]	runs
 *
 * A run reads through gaps of up to budget->gap. It has extents that begin in one block, so that
 * one that is read before its turn, around an extent that somebody waits for, leaves no pieces to
 * be read by themselves. The last one may end in the next block. Where so many bytes have more than
 * PLAN_RUN_EXTENTS extents, blocks are of as many instead.
 *
 * What is wanted in between but lies in another file, as that of a delta does, is passed over: it
 * is read with what lies beside it there. */
#pragma once

#include "cache/plan/plan_run.h"

/* What a forecast wants. */
struct elevator {
	const struct plan_view *view;
	enum plan_forecast forecast;
	void *wanted; /* the forecast's, for: */
	/* The first extent at or after `from` that is wanted, or PLAN_NONE. */
	uint64_t (*next)(void *wanted, uint64_t from);
	/* The last one before `until`, or PLAN_NONE; PLAN_RUN_EXTENTS are looked at, or more. */
	uint64_t (*before)(void *wanted, uint64_t until);
	/* One is being read, and is not wanted any more. */
	void (*plan)(void *wanted, uint64_t extent);
};

/* The run of at most `room` bytes of memory that begins with a wanted extent. False: there is no
 * room for that. */
bool elevator_from(const struct elevator *elevator, const struct prefetch_budget *budget,
		   uint64_t room, uint64_t extent, struct plan_run *ret);
/* The run around an extent that was asked for and must be read. False: nothing comes with it. */
bool elevator_around(const struct elevator *elevator, const struct prefetch_budget *budget,
		     uint64_t room, uint64_t extent, struct plan_run *ret);
/* Behind the first `accepted` extents of a run; or where it has passed over one for the first time.
 */
uint64_t elevator_end(const struct elevator *elevator, const struct plan_run *run,
		      unsigned accepted);
/* The first `accepted` extents of such a run are being read. A run that is nobody's moves *cursor
 * to its end. */
void elevator_commit(const struct elevator *elevator, const struct plan_run *run, unsigned accepted,
		     uint64_t *cursor);
