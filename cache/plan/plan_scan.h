/* Forecast "scan": somebody asks for one extent after the other. See plan_scan.c. */
#pragma once

#include "cache/plan/plan.h"

#define PLAN_STREAMS	   32	/* scans followed at once; each DataLoader worker may be one */
#define PLAN_AHEAD_EXTENTS 1024 /* a stream is at most this far ahead, however small they are */

struct plan_stream {
	uint64_t next;	  /* the extent after the last one asked for */
	uint64_t planned; /* the first extent that is not planned yet */
	uint64_t bytes;	  /* of the extents from next to planned */
	uint64_t window;  /* bytes to be ahead of the reader; grows while the scan goes on */
	uint64_t used;	  /* when it last went on, for replacement */
	unsigned steps;	  /* how often it went on */
	bool again;	  /* reads what was served before: the page cache has dropped it */
};

struct plan_scan {
	const struct plan_view *view;
	struct plan_stream streams[PLAN_STREAMS];
	uint64_t clock;	    /* demands seen */
	uint64_t readahead; /* bytes, at most, for each stream */
	unsigned turn;	    /* the stream to ask first for a run */
	unsigned last;	    /* the stream of the last demand */
};

void plan_scan_init(struct plan_scan *scan, const struct plan_view *view, uint64_t readahead);

/* Returns whether the demand goes on with a scan. */
bool plan_scan_demand(struct plan_scan *scan, uint64_t extent);
/* Whether the scan of the last demand is to be read ahead. */
bool plan_scan_wants(const struct plan_scan *scan);
bool plan_scan_next(struct plan_scan *scan, const struct prefetch_budget *budget,
		    struct plan_run *ret);
/* The first `accepted` extents of a run found by this are being read. */
void plan_scan_commit(struct plan_scan *scan, const struct plan_run *run, unsigned accepted);
