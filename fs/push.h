/* Gives the kernel what comes next in a known order, before its reader asks (FUSE_NOTIFY_STORE).
 *
 *	listing with attributes -> the kernel knows the inode -> push_known
 *	cache_push_next -> store into its page cache -> the reader asks for nothing
 *
 * A store waits for the pages of the file, which may themselves wait for a READ, so that a thread
 * that answers READs must never do it: there is one of its own. The kernel takes it only for
 * inodes that it knows, by LOOKUP, which comes just before the first READ, or by listings with
 * attributes. These cost 3 us and over 1 KB of kernel memory a file, so that they are left to
 * mounts of at most PUSH_FILES files. */
#ifndef FS_PUSH_H
#define FS_PUSH_H

#include "fs/mount.h"

#define PUSH_FILES 200000

struct push;

/* `fd`: of the connection, borrowed. Returns 0 or -ENOMEM. */
int push_new(struct mount *mount, struct push **ret);
void push_free(struct push *push);	   /* stopped, or never started; NULL is fine */
int push_start(struct push *push, int fd); /* 0 or -errno */
/* The cache has stopped. */
void push_stop(struct push *push);

/* Whether listings are to have attributes, for the kernel to know the files by. */
bool push_lists(const struct mount *mount);

/* The kernel knows the inode of an entry now, or no longer. Any thread; NULL is fine. */
void push_known(struct push *push, uint32_t inode, bool known);
/* Whether it does, and nothing is in the way of pushing. Any thread. */
bool push_may(const struct push *push, uint32_t inode);

#endif
