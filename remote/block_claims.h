/* Which pages of a copy are being fetched, so that processes that share it do not fetch them twice,
 * nor do the readers and the filler of one.
 *
 * A claim is a lock on bytes of the map, see F_OFD_SETLK in fcntl(2): who is killed leaves none.
 * Claims of one struct do not exclude each other, and who drops one drops what it overlaps as well.
 * Nobody has to heed a claim: all that is at stake is that a page is fetched twice.
 *
 * What somebody waits for is claimed apart from what is fetched ahead, which may come much later:
 * the former heeds no claims of the latter.
 *
 * Threads: any number at once. */
#ifndef REMOTE_BLOCK_CLAIMS_H
#define REMOTE_BLOCK_CLAIMS_H

#include "remote/blocks.h"

struct block_claims;

/* Returns 0 or -errno. */
int block_claims_new(const struct blocks *blocks, struct block_claims **ret);
void block_claims_free(struct block_claims *claims); /* NULL is fine */

/* Claims the pages from `offset` to the first that another has claimed, at most to `end`: *ret_end.
 * False: another has claimed those from `offset` to *ret_end. */
bool block_claims_take(struct block_claims *claims, bool ahead, uint64_t offset, uint64_t end,
		       uint64_t *ret_end);
void block_claims_drop(struct block_claims *claims, uint64_t offset, uint64_t end);

#endif
