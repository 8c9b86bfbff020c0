/* Drops the kernel's copy of what was served, behind the readers: what the pool owns, the kernel
 * must not hold a second time.
 *
 *	READ answered -> inval_add() -> [oldest ... newest] -> threads -> inval_fn: the kernel is
 *	                                   lag behind the readers           told to let go
 *
 * Only threads of its own talk to the kernel: telling it waits for the pages of the file, which
 * may themselves wait for a READ, so that a thread that answers READs must never do it. All that
 * was reported is dropped by and by, but for the newest INVAL_EXTENTS, and the newest `budget`
 * bytes: that lag gives readers the time to copy what they were answered and read ahead.
 *
 * An extent (as the dataset numbers them; a file of up to 1 MiB is one) stands in line once: what
 * is reported again goes to the end instead of being dropped. So the line is never longer than
 * the pack and needs no memory to grow: when the kernel holds up the threads it grows, nobody who
 * reports waits, nothing is lost, and the threads catch up. Meanwhile the kernel reclaims
 * those pages as it does all others.
 *
 * To be reported is every READ that was answered with bytes, for each extent touched that the
 * kernel is not to keep, once the kernel has the reply: earlier, the drop could come before the
 * pages, and they would stay. Only reporting ends of files would let all stay that is read partly
 * (thumbnails, headers).
 *
 * What a drop does to others: names and open files stay, and no LOOKUP follows; attributes are
 * asked for anew, one GETATTR when the file is next opened. Whoever still reads the file, or has
 * mapped it, has its pages read again, from the pool: slower, never wrong. */
#ifndef FS_INVAL_H
#define FS_INVAL_H

#include <stdint.h>

#define INVAL_EXTENTS 512 /* that may lag behind */

struct inval;

/* Has the kernel let go of an extent. Called by several threads at once, without locks; may
 * block. It should leave alone what the kernel is to keep by now, and an extent while a READ of it
 * is parked, whose answer is reported again: the kernel would wait for that answer uninterruptibly,
 * and a daemon that is killed then neither dies nor lets go of its mount, readers or sync(2), until
 * the connection is aborted. */
typedef void inval_fn(void *context, uint64_t extent);

/* Takes 8 bytes for each extent of the pack, touched once it is reported: count them with the
 * index. `budget`: bytes that may lag behind. Returns 0, -ENOMEM, or -EOVERFLOW (4 billion
 * extents). No thread runs yet: a daemon forks here. */
int inval_new(uint64_t extents, uint64_t budget, inval_fn *run, void *context, struct inval **ret);
/* Returns 0 or -errno; on failure those started are ended again. */
int inval_start(struct inval *inval);
/* Ends the threads; what is in line stays undropped. To be called when all parked READs are
 * answered, for a thread may wait for one of them. Not started: does nothing. */
void inval_stop(struct inval *inval);
void inval_free(struct inval *inval); /* stopped, or never started; NULL is fine */

/* The kernel was answered with bytes of an extent, whose size is `bytes` (at least 1, the same
 * each time). Any thread; O(1) under a lock that nobody holds for longer. */
void inval_add(struct inval *inval, uint64_t extent, uint32_t bytes);

#endif
