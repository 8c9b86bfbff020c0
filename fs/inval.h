/* Invalidates the kernel's copy of what was served, some time after: what the pool owns, the kernel
 * must not keep a second time.
 *
 *	READ answered -> inval_add() -> [oldest ... newest] -> threads -> inval_fn: the kernel
 *	                                 the lag                          drops its copy
 *
 * Only threads of its own do this: an invalidation waits for the pages of the file, which may
 * themselves wait for a READ, so a thread that answers READs must never do it. Everything reported
 * is invalidated, except the newest INVAL_EXTENTS extents and the newest `budget` bytes: that lag
 * gives readers the time to copy their answers, and what the kernel read ahead for them.
 *
 * An extent (as the dataset numbers them; a file of up to 1 MiB is one) is in the queue once: when
 * it is reported again, it goes to the end. So the queue is never longer than the pack and needs no
 * memory to grow. When the kernel holds up the threads, it grows, no reporter waits, nothing is
 * lost, and the threads catch up. Meanwhile the kernel reclaims those pages as it does all others.
 *
 * Report every READ that was answered with bytes, for each extent touched that the kernel is not to
 * keep, and only once the kernel has the reply: before that, the invalidation could come before the
 * pages, and they would stay. To report only ends of files would keep all that is read in part
 * (thumbnails, headers).
 *
 * An invalidation keeps names and open files, and no LOOKUP follows; attributes are asked for
 * again, one GETATTR when the file is next opened. A process that still reads the file, or has
 * mapped it, has its pages read again, from the pool: slower, never wrong. */
#ifndef FS_INVAL_H
#define FS_INVAL_H

#include <stdint.h>

#define INVAL_EXTENTS 512 /* of the lag, at most */

struct inval;

/* Has the kernel drop its copy of an extent. Called by several threads at once, without locks; may
 * block. It should spare an extent that the kernel is to keep by now, and one for which a READ is
 * parked, whose answer will be reported again: the kernel would wait for that answer
 * uninterruptibly. A daemon that is killed meanwhile neither dies nor gives up its mount, readers
 * or sync(2), until the connection is aborted. */
typedef void inval_fn(void *context, uint64_t extent);

/* Takes 8 bytes for each extent of the pack, touched once it is reported. `budget`: bytes of the
 * lag. Returns 0, -ENOMEM, or -EOVERFLOW (4 billion extents). No thread runs yet: a daemon forks
 * here. */
int inval_new(uint64_t extents, uint64_t budget, inval_fn *run, void *context, struct inval **ret);
/* Returns 0 or -errno; on failure those started are ended again. */
int inval_start(struct inval *inval);
/* Ends the threads, whatever is queued. To be called when all parked READs are answered, as a
 * thread may wait for one of them. Does nothing if not started. */
void inval_stop(struct inval *inval);
void inval_free(struct inval *inval); /* stopped, or never started; NULL is fine */

/* The kernel was given bytes of an extent, whose size is `bytes` (at least 1, the same each time).
 * Any thread; O(1) under a lock that is never held for longer. */
void inval_add(struct inval *inval, uint64_t extent, uint32_t bytes);

#endif
