/* What a mount says about itself at one moment: the JSON object in its extended attribute
 * `user.foldfs.stats`.
 *
 * Members are named by JSON pointers: "/requests/read". All counts are since the mount was made.
 * Two snapshots of the same mount give an interval; snapshot_origin() stands in for the earlier
 * one. */
#pragma once

#include "base/err.h"
#include <json-c/json_object.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is empty: all counts are 0. */
struct snapshot {
	double at; /* seconds on a clock of the caller, the same for all snapshots */
	struct json_object *stats;
};

/* Reads the object. Control characters in its texts become \ooo: a path may contain anything, and a
 * terminal must not get it. Returns 0, -EPROTO with a sentence (it is not an object) or -ENOMEM. */
int snapshot_parse(const char *json, size_t len, double at, struct snapshot *ret, struct err *err);
void snapshot_release(struct snapshot *s);

/* Replaces a snapshot by a copy of another. */
void snapshot_assign(struct snapshot *s, const struct snapshot *other);

/* The moment the mount was made, when all counts were zero. The uptime is in whole seconds; less
 * than one counts as one. */
struct snapshot snapshot_origin(const struct snapshot *now);

/* Whether `after` is a later one of the same mount. Each question is counted itself: if that
 * count did not grow, or the uptime fell, this is another mount. */
bool snapshot_follows(const struct snapshot *before, const struct snapshot *after);

/* A member; 0, "" or NULL if it is missing or of another type, because the mount may be of another
 * release. Counts are INT64_MAX at most, and 0 at least. Texts and arrays live as long as the
 * snapshot. */
uint64_t snapshot_count(const struct snapshot *s, const char *member);
double snapshot_real(const struct snapshot *s, const char *member);
bool snapshot_flag(const struct snapshot *s, const char *member);
const char *snapshot_text(const struct snapshot *s, const char *member);
/* Of an array; also "" if it is no text. */
const char *snapshot_element(struct json_object *array, size_t number);
struct json_object *snapshot_member(const struct snapshot *s, const char *member,
				    enum json_type type);

/* The members that count requests of the kernel: "/requests/read". NULL after the last. */
extern const char *const snapshot_requests[];

/* How much a count has grown. */
uint64_t snapshot_grown(const struct snapshot *before, const struct snapshot *after,
			const char *member);

/* Files that readers have begun to read in between; also what the kernel had, where Python before
 * 3.14 reads: it sends an ioctl for each file that it opens. */
uint64_t snapshot_files(const struct snapshot *before, const struct snapshot *after);

/* Whether a text is this one. */
bool snapshot_says(const struct snapshot *s, const char *member, const char *text);

/* Whether the pool may now use less than its budget, because memory is short. */
bool snapshot_is_shrunk(const struct snapshot *s);

/* How far a preload has got, in per cent; 100 only once it is done. */
unsigned snapshot_preloaded(const struct snapshot *s);
/* Whether the preload has filled its part of the pool, and waits for readers to make room. */
bool snapshot_preload_waits(const struct snapshot *s);

/* The share of `part` in `whole`; 0 if `whole` is 0. */
static inline double snapshot_share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}
