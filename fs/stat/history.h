/* The last minutes of a mount: what its snapshots say of each interval between them. Pure.
 *
 * Another mount in the same place begins anew. */
#pragma once

#include "fs/stat/snapshot.h"

#define HISTORY_SAMPLES 300
#define HISTORY_RECENT	5

enum series {
	SERIES_FILES,	/* a second */
	SERIES_SERVED,	/* bytes a second */
	SERIES_DEVICE,	/* bytes a second */
	SERIES_MEMORY,	/* share of the reads that found their data in the pool */
	SERIES_WAITING, /* share of the time; over 1: of several reads */
	SERIES_COUNT
};

struct history_sample {
	double at;
	double values[SERIES_COUNT]; /* NAN: there was nothing of which to take a share */
	uint64_t epoch, files, position;
};

struct history {	 /* empty as {.interval = N} */
	double interval; /* seconds from one snapshot to the next, about */
	struct snapshot recent[HISTORY_RECENT];
	unsigned kept;					/* of them, the oldest first */
	struct history_sample samples[HISTORY_SAMPLES]; /* a ring */
	size_t count;					/* of all samples that were added */
};

void history_release(struct history *history);

/* Adds what the mount says now. */
void history_add(struct history *history, const struct snapshot *now);

/* The last snapshot, and the one before it that the figures of now are measured from: a few
 * intervals earlier, or as the mount was made. Not for an empty history. */
const struct snapshot *history_now(const struct history *history);
const struct snapshot *history_before(const struct history *history);

/* A figure of now; NAN if there is none. */
double history_value(const struct history *history, enum series series);

/* The time that columns show, in seconds. */
double history_span(const struct history *history);

/* Means of a series for columns of equal time, the latest last; NAN where nothing is known. At most
 * HISTORY_SAMPLES columns. Returns the highest of them, or 0. */
double history_columns(const struct history *history, enum series series, int count, double *ret);

/* Seconds until the epoch ends at the pace of the last minute; negative if that cannot be told, as
 * where nothing is read now. */
double history_time_left(const struct history *history);
