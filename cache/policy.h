/* What leaves the pool first: the choice of the option policy=, or the rule that makes it.
 *
 *	pin	what was served latest, so that the rest is still there in the next epoch
 *	lru	what was not used for longest
 *	auto	pin, and lru where pin keeps what nobody asks for
 *
 * An epoch uses each of N extents once, in any order, with room for C = f N of them. What is hit
 * was there when the epoch began (whatever came later came for its only use), so no policy hits
 * more than C in an epoch. pin hits C, or C - 1: what this epoch has served is worth nothing until
 * the next one, and what was served latest is such an extent. lru hits f + (1 - f) ln(1 - f) of N
 * (tests/unit/test_policy.c). The outcome of pin is that of MinIO in CoorDL (Mohan et al.,
 * Analyzing and Mitigating Data Stalls in DNN Training, VLDB 2021).
 *
 * pin is wrong where some extents are popular (it gives up what was just used), and where a job
 * goes on with other files (it never gives up the old ones). Both show in the same way: what it
 * keeps is not asked for. A window is as many uses as there are extents, so that it is no shorter
 * than an epoch. Of what the pool kept when the window began, a window of shuffled epochs that
 * begins at the share x of an epoch leaves x (1 - x) unused at most, a quarter. Where half is left,
 * lru takes over for some windows; then pin is tried again, and each time that it fails soon lru
 * stays twice as long.
 *
 * Pure: no locks, no clock, no memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum policy_choice { POLICY_AUTO, POLICY_PIN, POLICY_LRU };

/* To be embedded; `lru` and `window` may be read, the rest is policy.c's. */
struct policy {
	bool lru;	 /* what is in force now; else pin */
	uint32_t window; /* the number of the window under way, modulo 2^32 */

	bool automatic;
	uint64_t length; /* of a window, in uses */
	uint64_t uses;	 /* in this window */
	uint64_t served; /* extents there when it began, and not evicted since, */
	uint64_t asked;	 /* and of these asked for since */
	uint32_t rest;	 /* windows of lru that are left; of the next time */
	uint32_t patience;
	uint32_t passed; /* windows that pin has stood in a row */
};

void policy_init(struct policy *policy, enum policy_choice choice, uint64_t extents);

/* An extent served in an earlier window was asked for, or evicted unasked. */
void policy_asked(struct policy *policy);
void policy_evicted(struct policy *policy);

/* An extent was served in full; `served` are the extents in the pool that were. */
void policy_used(struct policy *policy, uint64_t served);
