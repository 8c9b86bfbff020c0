/* What the kernel's page cache keeps in place of the pool.
 *
 *	asked -> lent_asked(): the kernel has let go of it, or it is outside
 *	answered -> lent_take(): stays with the kernel, or is dropped behind the reader
 *	         -> lent_served(): now the kernel has all of it, and nobody should ask again
 *
 * What the kernel has costs a reader nothing, not even a request, and goes by itself when memory is
 * wanted elsewhere. But of more than it has room for the kernel keeps what was used last, which is
 * wrong for shuffled epochs (policy_pin.c). So it is lent a share, and what came first stays in it
 * as if it were pinned; of all else its copy is dropped.
 *
 * Pure: no locks, no clock, no I/O; the caller locks. Constant time, but for a change of policy. */
#ifndef CACHE_LENT_H
#define CACHE_LENT_H

#include <stdbool.h>
#include <stdint.h>

#define LENT_ALL UINT64_MAX

struct lent;

/* `most`: bytes of memory; LENT_ALL: the kernel keeps whatever it likes, and nothing is noted.
 * Takes two bits for each extent. Returns 0 or -ENOMEM. */
int lent_new(uint64_t extents, uint64_t most, struct lent **ret);
void lent_free(struct lent *lent); /* NULL is fine */

/* From here on the kernel keeps what was used last, of everything, if anything is lent at all; or
 * (as at first, but with LENT_ALL) the share that is noted, which begins anew. */
void lent_recent(struct lent *lent, bool recent);
bool lent_is_recent(const struct lent *lent);

/* Some of an extent is asked for, or its beginning, so that the kernel does not have it. */
void lent_asked(struct lent *lent, uint64_t extent, uint32_t size, bool begins);
/* Some of it is served: takes it in, if it is not in yet and there is room. Returns whether it is
 * in, and the kernel's copy is to stay. */
bool lent_take(struct lent *lent, uint64_t extent, uint32_t size);
/* All of it was served. */
void lent_served(struct lent *lent, uint64_t extent);

/* Whether it is noted as in the share; and whether the kernel has all of it, unless it let go. */
bool lent_has(const struct lent *lent, uint64_t extent);
bool lent_is_kept(const struct lent *lent, uint64_t extent);
/* All that are kept, a bit for each extent; NULL: none. */
const uint8_t *lent_kept(const struct lent *lent);

uint64_t lent_bytes(const struct lent *lent); /* of memory, of what is noted */
uint64_t lent_limit(const struct lent *lent); /* what that may grow to now; 0: nothing is noted */

#endif
