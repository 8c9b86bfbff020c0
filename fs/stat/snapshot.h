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

/* Each count: its name here, and where it stands in the object (NULL: at the top). */
#define SNAPSHOT_COUNTS(X)                                                         \
	X(UPTIME, NULL, "uptime_s") /* seconds, whole ones */                      \
	X(FILES, "pack", "files")                                                  \
	X(BYTES, "pack", "bytes")                                                  \
	X(LOOKUP, "requests", "lookup")                                            \
	X(GETATTR, "requests", "getattr")                                          \
	X(READDIR, "requests", "readdir")                                          \
	X(READDIRPLUS, "requests", "readdirplus")                                  \
	X(OPEN, "requests", "open")                                                \
	X(READ, "requests", "read")                                                \
	X(GETXATTR, "requests", "getxattr")                                        \
	X(IOCTL, "requests", "ioctl")                                              \
	X(FORGET, "requests", "forget")                                            \
	X(NOTIFY, "requests", "notify")                                            \
	X(SERVED, NULL, "served_bytes") /* bytes */                                \
	X(DEVICE_READS, "device", "reads")                                         \
	X(DEVICE_BYTES, "device", "bytes")                                         \
	X(DEVICE_ERRORS, "device", "errors")                                       \
	X(POOL_BUDGET, "pool", "budget")                                           \
	X(POOL_LIMIT, "pool", "limit") /* of the budget, for now */                \
	X(POOL_USED, "pool", "used")                                               \
	X(POOL_HITS, "pool", "hits")                                               \
	X(POOL_MISSES, "pool", "misses")                                           \
	X(POOL_EVICTIONS, "pool", "evictions")                                     \
	X(AHEAD_ISSUED, "prefetch", "issued") /* bytes */                          \
	X(AHEAD_USED, "prefetch", "used")                                          \
	X(AHEAD_WASTED, "prefetch", "wasted")                                      \
	X(PRELOADED, NULL, "preloaded")                                            \
	X(WAIT_READS, "wait", "reads")                                             \
	X(WAIT_US, "wait", "total_us")                                             \
	X(WAIT_P50, "wait", "p50_us")                                              \
	X(WAIT_P99, "wait", "p99_us")                                              \
	X(ORDER_SEED, "oracle", "seed") /* of the order that was followed last */  \
	X(ORDER_EPOCH, "oracle", "epoch")                                          \
	X(ORDER_POSITION, "oracle", "position") /* of so many files */             \
	X(ORDER_FILES, "oracle", "files")                                          \
	X(ORDER_SEARCHES, "oracle", "searches")                                    \
	X(ORDER_LOCKS, "oracle", "locks")                                          \
	X(ORDER_UNLOCKS, "oracle", "unlocks")                                      \
	X(BAD_FILES, NULL, "bad_files")                                            \
	X(PAGE_CACHE, "pool", "page_cache") /* bytes that the kernel is to keep */ \
	X(PAGE_CACHE_LIMIT, "pool", "page_cache_limit")                            \
	X(PARKED, "wait", "parked") /* reads that wait now */                      \
	X(OLDEST_MS, "wait", "oldest_ms")                                          \
	X(ORDER_SEARCH_PART, "oracle", "search_part") /* per cent */               \
	X(ORDER_FULL_SEARCH, "oracle", "full_search_s")

enum count {
#define COUNT(name, group, member) COUNT_##name,
	SNAPSHOT_COUNTS(COUNT)
#undef COUNT
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
	char oracle[16], why[32], sampler[112], list[256];
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
