/* What the files of plan_order.h share. */
#pragma once

#include "cache/plan/plan_order.h"
#include "cache/plan/plan_set.h"

enum mark {
	PLANNED = 1, /* was handed out, */
	TWICE = 2,   /* and again */
	AHEAD = 4,   /* counted in `ahead` */
	ASKED = 8,   /* by a file's first extent: a reader asked for it */
	TAKEN = 16,  /* a reader of this forecast asked for the extent: it is not read ahead again,
		      * even where the forecast did not foresee that, and still expects it */
};

/* What was planned of one forecast. */
struct plan_followed {
	const void *id; /* its follower's */
	struct forecast *forecast;
	uint64_t fed;	 /* what was seen until it foresaw something last */
	uint32_t fed_by; /* files that it foresaw */
	uint8_t *marks;	 /* of each extent */
	struct plan_set window;
	uint64_t listed;	/* memory of the window, bytes */
	uint64_t ahead;		/* memory of what was handed out, and not asked for or passed yet */
	uint32_t place;		/* of the order: files before it were looked at; */
	uint32_t passed;	/* these are not ahead any more: readers went past them; */
	uint32_t front;		/* and past these, at the last look */
	bool sweeping;		/* the window is being read, */
	uint64_t cursor;	/* at this extent */
	uint64_t goal;		/* W, while it doubles */
	uint64_t begun;		/* bytes listed when the sweep began */
	uint64_t taken, missed; /* bytes that readers took in this sweep, and that were not there */
	uint64_t per_sweep;	/* P */
	uint64_t mean;		/* s */
	double scatter;		/* D s, bytes squared; 0: not known yet */
	bool hungry;		/* a file that is needed soon is missing */
	uint32_t demands;	/* files, modulo 2^32 */
	uint32_t position;	/* of the forecast, at the last demand */
	uint32_t recent;	/* files, */
	uint32_t dropped;	/* of which these were asked for though the page cache had them */
};
