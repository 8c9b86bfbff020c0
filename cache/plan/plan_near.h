/* The forecast "near": what belongs to what was just asked for. See plan_near.c.
 *
 *	the rest of this directory	frames of a clip, photographs of a burst
 *	the same name elsewhere		a mask or a label beside each image
 *
 * Both are learned from what readers do, and forgotten when they stop. */
#ifndef CACHE_PLAN_PLAN_NEAR_H
#define CACHE_PLAN_PLAN_NEAR_H

#include "cache/plan/plan.h"

#define PLAN_RECENT    64   /* files asked for last: "soon" is among these */
#define PLAN_PAIRS     8    /* kinds of pairs known at once */
#define PLAN_PARTNERS  32   /* files to be read because of a pair */
#define PLAN_DIRECTORY 1024 /* extents of the largest directory that is looked at */
#define PLAN_LENGTHS   4

/* Something readers do again and again, or not any more. */
struct plan_habit {
	int score;
	unsigned open; /* forecasts that have neither come true nor failed */
};

/* A directory that files were asked for of, each soon after another. */
struct plan_visit {
	uint64_t directory; /* its first extent */
	uint32_t size;	    /* extents */
	unsigned count;	    /* of them that were asked for; 0: no visit */
	uint8_t asked[PLAN_DIRECTORY / 8];
	uint64_t last; /* when: near->clock */
	unsigned row;  /* visits before it that ended where the next began */
	uint64_t at;   /* the file asked for last */
	int64_t step;  /* from the one before */
	bool even;     /* all steps were the same */
	bool whole;    /* nearly all of it was asked for, and that was counted */
	bool again;    /* of what was served before: the kernel has let go of it */
	/* The forecast: */
	struct plan_habit *habit; /* NULL: none is open */
	unsigned until;		  /* the count at which the visit ends; 0: not foreseen */
	uint64_t next, stride;	  /* the next extent to plan, and from there to the one after */
	bool is_long;		  /* too long to be read ahead */
	unsigned left;		  /* how many to plan */
};

/* Files that are asked for together, by the example of two. */
struct plan_pair {
	uint64_t from, to, since;
	struct plan_habit habit; /* of score 0: no pair */
};

struct plan_recent {
	uint64_t file, end, stem; /* of plan_kin */
	struct plan_visit *visit; /* or NULL */
	uint8_t owed;		  /* a bit for each pair: its partner was not yet asked for */
};

struct plan_near {
	uint64_t clock;				/* files asked for, but for those just asked for */
	struct plan_recent recent[PLAN_RECENT]; /* by clock, cyclic */
	struct plan_visit visits[PLAN_RECENT];
	struct plan_visit *visit;		/* the last one asked of, or NULL */
	struct plan_habit whole, even;		/* how directories are read */
	unsigned lengths[PLAN_LENGTHS], length; /* of the last even visits; cyclic */
	struct plan_pair pairs[PLAN_PAIRS];
	uint64_t partners[PLAN_PARTNERS]; /* to be read, by their first extents; cyclic */
	unsigned partner, partner_count;
};

void plan_near_init(struct plan_near *near);

void plan_near_demand(struct plan_near *near, const struct plan_view *view, uint64_t extent);
bool plan_near_wants(const struct plan_near *near);
bool plan_near_next(struct plan_near *near, const struct plan_view *view,
		    const struct plan_limits *limits, struct plan_run *ret);

/* Whether the last demand belongs to a visit whose end is foreseen: a scan that began there goes
 * no further. Not where one directory after the other is scanned. */
bool plan_near_foresees(const struct plan_near *near);

#endif
