/* Gives the kernel what comes next in a known order, before its reader asks (FUSE_NOTIFY_STORE).
 *
 *	listing with attributes -> the kernel knows the inode -> notify_store_known
 *	cache_push_next -> store into its page cache -> the reader asks for nothing
 *
 * A store waits for the pages of the file, which may themselves wait for a READ, so that a thread
 * that answers READs must never do it: there is one of its own. The kernel takes it only for
 * inodes that it knows, by LOOKUP, which comes just before the first READ, or by listings with
 * attributes. These cost 3 us and over 1 KB of kernel memory a file, so that they are left to
 * mounts of at most NOTIFY_STORE_FILES files. */
#ifndef FS_NOTIFY_STORE_H
#define FS_NOTIFY_STORE_H

#include "fs/mount.h"

#define NOTIFY_STORE_FILES 200000

struct notify_store;

/* `fd`: of the connection, borrowed. Returns 0 or -ENOMEM. */
int notify_store_new(struct mount *mount, struct notify_store **ret);
void notify_store_free(struct notify_store *store); /* stopped, or never started; NULL is fine */
int notify_store_start(struct notify_store *store, int fd); /* 0 or -errno */
/* The cache has stopped. */
void notify_store_stop(struct notify_store *store);

/* Whether listings are to have attributes, for the kernel to know the files by. */
bool notify_store_lists(const struct mount *mount);

/* The kernel knows the inode of an entry now, or no longer. Any thread; NULL is fine. */
void notify_store_known(struct notify_store *store, uint32_t inode, bool known);
/* Whether it does, and nothing is in the way of pushing. Any thread. */
bool notify_store_may(const struct notify_store *store, uint32_t inode);

#endif
