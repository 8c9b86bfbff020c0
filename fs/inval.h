/* Invalidates the kernel's copy of what was served, some time later: the kernel must not keep a
 * second copy of what the pool owns.
 *
 *	READ answered -> inval_add() -> [oldest ... newest] -> threads -> inval_fn: the kernel
 *	                                 the lag                          drops its copy
 *
 * Only threads of its own do this: an invalidation waits for the pages of the file, which may
 * themselves wait for a READ, so a thread that answers READs must never do it. Everything reported
 * is invalidated, except the newest INVAL_EXTENTS extents and the newest `budget` bytes: that lag
 * gives readers the time to copy their answers, and what the kernel read ahead for them.
 *
 * An extent (as the dataset numbers them; a file of up to 1 MiB is one extent) is in the queue
 * once: when it is reported again, it goes to the end. So the queue is never longer than the pack,
 * and needs no memory to grow. If the kernel holds up the threads, the queue grows, no reporter
 * waits, nothing is lost, and the threads catch up later. Meanwhile the kernel reclaims those pages
 * like all others.
 *
 * Report every READ that was answered with bytes, for each extent touched that the kernel is not to
 * keep. Report it only once the kernel has the reply: otherwise the invalidation could come before
 * the pages, and they would stay. Reporting only ends of files would keep all that is read in part
 * (thumbnails, headers).
 *
 * An invalidation keeps names and open files, and no LOOKUP follows; attributes are asked for
 * again, one GETATTR when the file is next opened. A process that still reads the file, or has
 * mapped it, has its pages read again, from the pool: slower, never wrong. */
#pragma once

#include <stdint.h>

#define INVAL_EXTENTS 512 /* of the lag, at most */

struct inval;

/* Makes the kernel drop its copy of an extent. Called by several threads at once, without locks;
 * may block. It should skip an extent that the kernel is to keep by now, and one for which a READ
 * is parked: its answer will be reported again, and the kernel would wait for it uninterruptibly. A
 * daemon that is killed while the kernel waits does not die, and its mount, readers and sync(2)
 * hang, until the connection is aborted. */
typedef void inval_fn(void *context, uint64_t extent);

/* Takes 8 bytes for each extent of the pack, used once it is reported. `budget`: the bytes of the
 * lag. Returns 0, -ENOMEM, or -EOVERFLOW (4 billion extents). Starts no thread yet, so that a
 * daemon can fork. */
int inval_new(uint64_t extents, uint64_t budget, inval_fn *run, void *context, struct inval **ret);
/* Starts the threads. Returns 0 or -errno; on failure no thread is left. */
int inval_start(struct inval *inval);
/* Ends the threads, whatever is queued. Call it when all parked READs are answered, because a
 * thread may wait for one of them. Does nothing if not started. */
void inval_stop(struct inval *inval);
void inval_free(struct inval *inval); /* stopped, or never started; NULL is fine */

/* The kernel was given bytes of an extent, whose size is `bytes` (at least 1, the same each time).
 * Any thread; O(1) under a lock that is never held for longer. */
void inval_add(struct inval *inval, uint64_t extent, uint32_t bytes);
