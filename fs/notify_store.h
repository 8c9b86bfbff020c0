/* Gives the kernel a file before its reader asks for it (FUSE_NOTIFY_STORE):
 *
 *	what comes next in a known order: a thread of its own   -> cache_push_next
 *	what was just opened, and is in memory: one that serves -> cache_opened
 *	-> store into the page cache -> the reader asks for nothing
 *
 * A store waits for the pages of the file, which may themselves wait for a READ. So of the threads
 * that answer READs one never stores. The kernel takes a store only for inodes that it knows: from
 * a LOOKUP, which comes just before the first READ, or from listings with attributes. These cost
 * 3 us and over 1 KB of kernel memory a file, so only mounts of at most NOTIFY_STORE_FILES files
 * have them. */
#pragma once

#include "cache/cache.h"
#include "fs/tree.h"
#include <stdatomic.h>

#define NOTIFY_STORE_FILES 200000

struct notify_store;

/* Borrows its arguments: `serving`, how many threads answer the kernel; `sent` counts messages,
 * `files` those that they brought. Returns 0 or -ENOMEM. */
int notify_store_new(const struct tree *tree, struct cache *cache, const atomic_uint *serving,
		     _Atomic uint64_t *sent, _Atomic uint64_t *files, struct notify_store **ret);
void notify_store_free(struct notify_store *store); /* stopped, or never started; NULL is fine */
/* Borrows `fd`, the connection's. Returns 0 or -errno. */
int notify_store_start(struct notify_store *store, int fd);
/* Call it once the cache has stopped. */
void notify_store_stop(struct notify_store *store);

/* Whether listings should have attributes, so that the kernel knows the files. NULL is fine, here
 * and below. */
bool notify_store_lists(const struct notify_store *store);

/* Notes whether the kernel knows the inode of an entry. Any thread. */
void notify_store_known(struct notify_store *store, uint32_t inode, bool known);
/* Whether the kernel may be given the bytes of an inode. Any thread. */
bool notify_store_may(const struct notify_store *store, uint32_t inode);

/* A reader has opened a file that is not empty, and may have read nothing of it yet. By a thread
 * that answers READs. */
void notify_store_opened(struct notify_store *store, uint32_t inode, uint32_t reader);
