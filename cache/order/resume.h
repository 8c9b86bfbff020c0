/* Readers that begin in the middle of an epoch: which pass is it, and where?
 *
 * Their files are neighbours in the order, as those of readers from its beginning on are, but at
 * places that are not known, so that a pass can only be tried whole. That takes n steps, for which
 * conventions are few enough, and seeds that must be searched for too many. Pure. */
#ifndef CACHE_ORDER_RESUME_H
#define CACHE_ORDER_RESUME_H

#include "cache/order/pass.h"

#define RESUME_SEEN  24		 /* indices, at least, that are needed */
#define RESUME_STEPS 50000000ull /* no more are spent: a fraction of a second */

struct resume;

/* The indices of n that were seen, each once: copied. Returns 0 or -ENOMEM. */
int resume_new(uint32_t n, const uint32_t *seen, unsigned count, struct resume **ret);
void resume_free(struct resume *resume); /* NULL is fine */

/* More than so many of n indices have neighbours by chance. */
unsigned resume_most(uint32_t n);

/* How many passes may be tried. */
unsigned resume_tries(const struct resume *resume);

/* Whether what was seen lies together in the order of the pass, or of ranks of a world that deals
 * it out: *ret is then the pass with its part. */
bool resume_fits(struct resume *resume, const struct pass *pass, struct pass *ret);

#endif
