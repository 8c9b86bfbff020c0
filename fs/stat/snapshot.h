/* What a mount says of itself at one moment: the JSON object of its extended attribute
 * `user.foldfs.stats`, as plain data.
 *
 * All counts are since the mount was made; two snapshots of the same mount give an interval,
 * and snapshot_origin() is the earlier one where there is none. */
#ifndef FS_STAT_SNAPSHOT_H
#define FS_STAT_SNAPSHOT_H

#include "base/err.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum count {
	COUNT_UPTIME, /* seconds, whole ones */
	COUNT_FILES,  /* in the pack */
	COUNT_BYTES,
	COUNT_LOOKUP, /* requests of the kernel: up to COUNT_NOTIFY */
	COUNT_GETATTR,
	COUNT_READDIR,
	COUNT_READDIRPLUS,
	COUNT_OPEN,
	COUNT_READ,
	COUNT_GETXATTR,
	COUNT_IOCTL,
	COUNT_FORGET,
	COUNT_NOTIFY,
	COUNT_SERVED, /* bytes */
	COUNT_DEVICE_READS,
	COUNT_DEVICE_BYTES,
	COUNT_DEVICE_ERRORS,
	COUNT_POOL_BUDGET, /* bytes */
	COUNT_POOL_LIMIT,  /* of the budget, for now */
	COUNT_POOL_USED,
	COUNT_POOL_HITS,
	COUNT_POOL_MISSES,
	COUNT_POOL_EVICTIONS,
	COUNT_AHEAD_ISSUED, /* bytes */
	COUNT_AHEAD_USED,
	COUNT_AHEAD_WASTED,
	COUNT_PRELOADED,
	COUNT_WAIT_READS,
	COUNT_WAIT_US,
	COUNT_WAIT_P50,
	COUNT_WAIT_P99,
	COUNT_ORDER_SEED, /* of the order that was followed last: up to COUNT_ORDER_FILES */
	COUNT_ORDER_EPOCH,
	COUNT_ORDER_POSITION, /* of the files, which are counted next */
	COUNT_ORDER_FILES,
	COUNT_ORDER_SEARCHES,
	COUNT_ORDER_LOCKS,
	COUNT_ORDER_UNLOCKS,
	COUNT_BAD_FILES,
	COUNT_LENT, /* bytes that the kernel is to keep */
	COUNT_LENT_LIMIT,
	COUNT_PARKED,	 /* reads that wait now, */
	COUNT_OLDEST_MS, /* and for how long the first of them */
	COUNT_COUNT
};

#define SNAPSHOT_LOG 8

struct snapshot {
	double at; /* seconds on a clock of the caller's, the same for all snapshots */
	uint64_t counts[COUNT_COUNT];
	double amplification; /* device bytes per distinct byte served; 0: none yet */
	double search_s;      /* seconds that the order which was found last took to find */
	/* For people: cut to fit, control characters as \ooo. */
	char version[32], id[64], pack[PATH_MAX], policy[16], cache[16], io[16];
	char oracle[16], sampler[112], list[256];
	char log[SNAPSHOT_LOG][256]; /* the last messages, the oldest first */
	unsigned log_lines;
	bool changed; /* the pack, while it was mounted: no read of it is answered */
};

/* Reads the object. What it lacks is 0 or "": the mount may be of an older release. Returns 0;
 * -EPROTO with a sentence where it is no object; -ENOMEM. */
int snapshot_parse(const char *json, size_t len, double at, struct snapshot *ret, struct err *err);

/* The moment the mount was made, when all counts were zero. Its uptime is given in whole
 * seconds; the first one is taken as full. */
struct snapshot snapshot_origin(const struct snapshot *now);

/* How much a count has grown. */
static inline uint64_t snapshot_grown(const struct snapshot *before, const struct snapshot *after,
				      enum count count)
{
	return after->counts[count] - before->counts[count];
}

/* Whether the pool may use less than its budget now: memory is short. */
bool snapshot_is_shrunk(const struct snapshot *s);

/* How far a preload has got, per cent: 100 only when it is done. */
unsigned snapshot_preloaded(const struct snapshot *s);
/* Whether it has filled what it may use of the pool, and goes on as readers make room. */
bool snapshot_preload_waits(const struct snapshot *s);

/* Part of whole, from 0 to 1 where it is one; 0 of nothing. */
static inline double snapshot_share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

#endif
