/* Which pages of a copy are being fetched. So processes that share the copy do not fetch a page
 * twice, and neither do the readers and the filler of one process.
 *
 * A claim is a lock on bytes of the map (F_OFD_SETLK in fcntl(2)), so that a process that is killed
 * leaves none. Claims of one struct do not exclude each other; dropping one also drops what it
 * overlaps of its kind. Ignoring a claim does no harm but fetch a page twice.
 *
 * There are two kinds of claims: for what somebody waits for, and for what is fetched ahead. What
 * is fetched ahead may come much later, so those who wait ignore its claims.
 *
 * Threads: any number at once. */
#pragma once

#include "remote/blocks.h"

struct block_claims;

/* `own`: a descriptor of its own; one struct of a copy may do without. Returns 0 or -errno. */
int block_claims_new(const struct blocks *blocks, bool own, struct block_claims **ret);
void block_claims_free(struct block_claims *claims); /* NULL is fine */

/* Claims pages from `offset` up to *ret_end: the first page that another has claimed, or `end`.
 * False: another has claimed the pages from `offset` to *ret_end. */
bool block_claims_take(struct block_claims *claims, bool ahead, uint64_t offset, uint64_t end,
		       uint64_t *ret_end);
void block_claims_drop(struct block_claims *claims, bool ahead, uint64_t offset, uint64_t end);
