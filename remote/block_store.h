/* The folder of a disk cache: who may use it, how much may be in it, and what is removed first.
 *
 *	DIR/uid-N/PLACE-STATE/data	a copy (blocks.h): PLACE: 32 digits of where it was read
 *					(base/reader.h); STATE: as many of what was there
 *	DIR/uid-N/index/		index files of what is no pack: pack/foreign/index_file.h
 *
 * Each user has a private folder in DIR. If DIR belongs to root or to this user, is writable for
 * its group but not for others, and has the set-group-ID bit, the group shares it: there is no
 * uid-N, and the group may read and write everything. Whoever may write there is trusted, because
 * checksums are not signatures.
 *
 * What is in index/ stays, and does not count for SIZE. A copy stays as long as a process has it
 * open. To make room, the others are removed, the one opened longest ago first. Nothing is locked
 * for that: a copy that is removed just when it is opened serves its mount, and no later one.
 *
 * Threads: any number at once. */
#pragma once

#include "base/err.h"
#include "remote/blocks.h"

struct block_store;

/* `spec` is "DIR" or "DIR,SIZE". DIR is created if it is missing. All copies together take at most
 * SIZE bytes, or what is free. A twentieth of the filesystem always stays free. Returns 0 or -errno
 * with a sentence that names DIR. */
int block_store_open(const char *spec, struct block_store **ret, struct err *err);
/* The folder with the copies: a descriptor of the store's. */
int block_store_folder(const struct block_store *store);
/* The path of index/, for this process, which lives as long as the store; NULL: it cannot be made.
 */
const char *block_store_indexes(const struct block_store *store);
/* Says that the folder is not shared though it looks so. */
void block_store_notice(const struct block_store *store, void (*notice)(const char *line));
void block_store_free(struct block_store *store); /* after all of its copies; NULL is fine */

/* The copy of what is at a place. `state`: a digest, which tells it from what else is, or was, at
 * that place. See blocks_open(); -EOPNOTSUPP: the filesystem does not tell what is a hole. */
int block_store_blocks(struct block_store *store, const char *place, const char *state,
		       uint64_t size, struct blocks **ret);
/* The copy of what was read last at a place, by itself: 0, -ENOENT if it is not complete, or
 * -errno. */
int block_store_find(struct block_store *store, const char *place, struct reader **ret);

/* How many of `wanted` bytes may be written now. If that helps, removes copies that nobody has
 * open. */
uint64_t block_store_room(struct block_store *store, uint64_t wanted);
/* Whether all of `bytes` may be written now. Removes such copies only if that makes room for all.
 */
bool block_store_has_room(struct block_store *store, uint64_t bytes);
