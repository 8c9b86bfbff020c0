/* Writes records into an LMDB file: the only caller of liblmdb.
 *
 * Records go into one transaction until store_commit(); store_full() says when a commit is due.
 * Every commit closes the environment, and the next record opens it anew. Otherwise liblmdb 0.9
 * reuses its page buffers, and stale bytes of the heap reach the tails of pages, so two runs, or a
 * resumed run, would not give the same file. MDB_WRITEMAP and MDB_NOMEMINIT are not used for the
 * same reason. What a commit writes depends only on the sequence of records and commits.
 *
 * Pages have 4 KiB, whatever the machine uses.
 *
 * The file can be brought back to an earlier commit, bit for bit, as long as the pages of that
 * state are unchanged: see store_save().
 *
 * Commits do not sync (MDB_NOSYNC): the file is safe only once its owner has called fdatasync. Not
 * thread-safe. Internal to pack/. */
#pragma once

#include "pack/format.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

/* The version of liblmdb in use. */
void store_library(int *ret_major, int *ret_minor, int *ret_patch);

/* The file at path exists; it is empty, or store_restore() is called next. No lock file is made
 * beside it. `batch` is how many bytes of pages make it full; 0: 64 MiB. */
int store_new(const char *path, uint64_t batch, struct store **ret);
void store_free(struct store *store); /* drops what is not committed; NULL is fine */

/* Whether the transaction must be committed before a record of `size` bytes is put. */
bool store_full(const struct store *store, const void *key, size_t key_len, uint64_t size);

/* Adds a record of `size` bytes; *ret_space is where they go. The caller fills all of it before the
 * next call, since it holds stale bytes of the heap. Returns 0; -EEXIST (the key is there); -EINVAL
 * (LMDB does not take such a key); -ENOSPC, -EDQUOT or -EFBIG (no room for the file); -EIO;
 * -ENOMEM. */
int store_put(struct store *store, const void *key, size_t key_len, uint64_t size,
	      void **ret_space);
/* The value of a record, committed or not, until the next call that changes anything.
 * Returns 0, -ENOENT, or as above. */
int store_get(struct store *store, const void *key, size_t key_len, const void **ret_data,
	      uint64_t *ret_size);
/* Removes a record. Returns 0, -ENOENT, or as above. */
int store_delete(struct store *store, const void *key, size_t key_len);

/* Writes what was put. Returns 0, 1 where nothing was, or as above. */
int store_commit(struct store *store);

/* After the last commit: fills all free pages with zeros, so that nothing is left of earlier
 * commits, or of commits that an interruption lost. */
int store_wipe(struct store *store);

#define STORE_META_BYTES 152 /* of a meta page, from its start; the rest is always zero */

/* What a commit leaves besides the pages of its tree. */
struct store_state {
	uint64_t bytes; /* length of the file */
	uint32_t page;	/* bytes */
	uint8_t metas[2][STORE_META_BYTES];
	uint8_t last_key[FORMAT_KEY_MAX]; /* the greatest key ever put, deleted or not */
	size_t last_key_len;
	bool revisited; /* pages of earlier commits were read again: for a record that did not sort
			   last, or by store_get() */
};

/* The state after the last commit, before anything else is put. The next two commits do not touch
 * its pages; the third one does (see journal.h). Returns 0 or -errno. */
int store_save(const struct store *store, struct store_state *ret);

/* Brings the file and the store back to that state. Nothing was put before. Returns 0 or -errno. */
int store_restore(struct store *store, const struct store_state *state);
