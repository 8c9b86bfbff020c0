/* Which extents the kernel's page cache keeps, so that the pool need not.
 *
 *	asked -> residency_asked(): the kernel does not have it (any more)
 *	answered -> residency_take(): it stays with the kernel, or its copy is dropped
 *	         -> residency_served(): now the kernel has all of it, and nobody should ask again
 *	         -> residency_probe(): one that is to leave, to see whether it is asked for
 *
 * What the kernel has costs a reader nothing, not even a request, and the kernel frees it when
 * memory is wanted elsewhere. But of more than it has room for the kernel keeps what was used last,
 * which is wrong for shuffled epochs (pool.c). So it gets a share; what came first stays in that
 * share, and the kernel's copies of all else are dropped.
 *
 * How much the kernel can keep nobody says. What it was given whole and is asked for again, it has
 * let go of: that extent leaves the share, which shrinks by as much. What it let go of and nobody
 * asks for shows by probes: some extents, one after the other, leave the share and are dropped. Of
 * a share that is in use each probe is asked for within an epoch. Where most are not, the share is
 * that of a job which has ended, and begins anew.
 *
 * Pure: no locks, no clock, no I/O; the caller locks. Constant time, but for a change of policy. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RESIDENCY_ALL UINT64_MAX

struct residency;

/* `most`: bytes of memory; RESIDENCY_ALL: the kernel keeps whatever it likes, and nothing is noted.
 * `page`: bytes of the kernel's pages. Takes two bits for each extent. Returns 0 or -ENOMEM. */
int residency_new(uint64_t extents, uint64_t most, uint64_t page, struct residency **ret);
void residency_free(struct residency *residency); /* NULL is fine */

/* The kernel keeps everything, and gives up what was used longest ago; or the share that is noted,
 * which begins anew. With RESIDENCY_ALL it is always the former, with `most` 0 the latter. */
void residency_recent(struct residency *residency, bool recent);
bool residency_is_recent(const struct residency *residency);

/* Some of an extent is asked for (`begins`: its beginning), so that the kernel does not have it. */
void residency_asked(struct residency *residency, uint64_t extent, uint32_t size, bool begins);
/* Some of it is served: takes it in, if it is not in yet and there is room. Returns whether it is
 * in, and the kernel's copy is to stay. */
bool residency_take(struct residency *residency, uint64_t extent, uint32_t size);
/* All of it was served. */
void residency_served(struct residency *residency, uint64_t extent);

/* After an extent was served: whether another one is to leave the share now. The caller looks up
 * its size, calls residency_release() and has the kernel's copy dropped. */
bool residency_probe(struct residency *residency, uint64_t *ret);
void residency_release(struct residency *residency, uint64_t extent, uint32_t size);

/* With a `most` of 0: somebody else keeps it, or no longer, and says so. */
void residency_keep(struct residency *residency, uint64_t extent, bool kept);

/* Whether it is noted as in the share; and whether the kernel has all of it, unless it let go. */
bool residency_has(const struct residency *residency, uint64_t extent);
bool residency_is_kept(const struct residency *residency, uint64_t extent);
/* All that are kept, a bit for each extent; NULL: none. */
const uint8_t *residency_kept(const struct residency *residency);

uint64_t residency_bytes(const struct residency *residency); /* of memory, of what is noted */
/* What that may grow to now; 0: nothing is noted. */
uint64_t residency_limit(const struct residency *residency);
