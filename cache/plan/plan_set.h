/* A set of extents: adding, removing, and finding the next one by number.
 *
 * Two levels of bits: a bit for each extent, and above it a bit for each word that is not empty.
 * Finding the next member looks at 1/4096 of the extents at most, whatever the set holds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PLAN_SET_NONE UINT64_MAX

/* To be embedded; the fields are plan_set.c's. */
struct plan_set {
	uint64_t *words, *used;
	uint64_t used_count;
};

/* An empty set of numbers below `extents`. Returns 0 or -ENOMEM. */
int plan_set_init(struct plan_set *set, uint64_t extents);
void plan_set_release(struct plan_set *set);

bool plan_set_has(const struct plan_set *set, uint64_t extent);
void plan_set_add(struct plan_set *set, uint64_t extent);
void plan_set_remove(struct plan_set *set, uint64_t extent);

/* The lowest member that is at least `from`, and the highest that is below `until`, or
 * PLAN_SET_NONE. Both are at most `extents`. */
uint64_t plan_set_next(const struct plan_set *set, uint64_t from);
uint64_t plan_set_before(const struct plan_set *set, uint64_t until);
