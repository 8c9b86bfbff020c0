/* The folder of a disk cache: whose it is, how much may be in it, and what leaves it.
 *
 *	DIR/uid-N/KEY/data, map		a copy of a pack (blocks.h); KEY: its 32 digits
 *	DIR/uid-N/names/HASH -> KEY	what was read under a name last
 *
 * Each user has a folder of his own in DIR, which nobody else can enter. Where DIR is writable for
 * its group and has the set-group-ID bit, its group shares it: there is no uid-N, and the group may
 * read and write all. Who may write there is trusted, as checksums are no signatures.
 *
 * A copy that a process has open stays. What nobody has open leaves when room is wanted, the one
 *that was opened longest ago first. A lock on the folder keeps opening and removing apart.
 *
 * Threads: any number at once. */
#ifndef REMOTE_BLOCK_STORE_H
#define REMOTE_BLOCK_STORE_H

#include "base/err.h"
#include "remote/blocks.h"

struct block_store;

#define BLOCK_KEY_DIGITS 32

/* `spec` is "DIR" or "DIR,SIZE"; DIR is made where it is missing. SIZE bounds the bytes of all
 * copies; without it, they may take what is free. A twentieth of the filesystem stays free in any
 * case. Returns 0 or -errno with a sentence, which names DIR. */
int block_store_open(const char *spec, struct block_store **ret, struct err *err);
void block_store_free(struct block_store *store); /* after all of its copies; NULL is fine */

/* The copy of a pack of this key, see blocks_open(). */
int block_store_blocks(struct block_store *store, const char *key, uint64_t size,
		       struct blocks **ret);

/* Bytes that may be written now, of `wanted`: removes what nobody has open where that helps. */
uint64_t block_store_room(struct block_store *store, uint64_t wanted);

/* What a name, a path or a URL, was read as last: remembers it; and has its copy read by itself, if
 * all of it is there: -ENOENT where not. */
void block_store_remember(struct block_store *store, const char *name, const char *key);
int block_store_find(struct block_store *store, const char *name, struct reader **ret);

#endif
