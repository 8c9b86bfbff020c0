/* Writes records into an LMDB file: the only caller of liblmdb.
 *
 * Records go into one transaction until store_commit() (or until the batch is full). At every
 * commit the environment is closed and opened anew: liblmdb 0.9 reuses its page buffers, and
 * stale heap bytes would reach the tails of pages, so that two runs, or a resumed one, would
 * not give the same file. For the same reason never MDB_WRITEMAP nor MDB_NOMEMINIT. What a
 * commit writes depends on the sequence of records only.
 *
 * Commits do not sync (MDB_NOSYNC): the file counts once its owner has called fdatasync.
 * Not thread-safe. Internal to pack/. */
#ifndef PACK_STORE_H
#define PACK_STORE_H

#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

struct store;

/* The version of liblmdb in use. */
void store_library(int *ret_major, int *ret_minor, int *ret_patch);

/* The file at path exists and is empty. No lock file is made beside it. */
int store_new(const char *path, struct store **ret);
void store_free(struct store *store); /* drops what is not committed; NULL is fine */

/* Adds a record of `size` bytes; *ret_space is where they go, all of them before the next call:
 * what is there now are stale bytes of the heap.
 * Returns 0; -EEXIST (the key is there); -EINVAL (no key LMDB takes); -ENOSPC, -EDQUOT or -EFBIG
 * (no room for the file); -EIO; -ENOMEM. */
int store_put(struct store *store, const void *key, size_t key_len, uint64_t size,
	      void **ret_space);
/* Takes a record out again. Returns 0, -ENOENT, or as above. */
int store_delete(struct store *store, const void *key, size_t key_len);

int store_commit(struct store *store);

#endif
