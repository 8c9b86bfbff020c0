/* How foldstat hands a mount a reading order: by ioctls on the mount's root, to foldfs.
 *
 *	ORDER_FIRST paths below the root	a new order
 *	paths					as often as it takes
 *	ORDER_LAST  paths			the mount follows the order from now on
 *
 * An ioctl carries 16 KiB at most, so an order comes in batches; a short one is FIRST and LAST. The
 * kernel does not tell the daemon when a folder is closed or a process ends. So a mount takes one
 * order at a time, from the process that sent FIRST last: a sender before it finds its next batch
 * refused (EBUSY), or is dead. Until LAST an order changes nothing. A path that is refused ends it.
 */
#ifndef FS_ORDER_IOCTL_H
#define FS_ORDER_IOCTL_H

#include <errno.h>
#include <stdint.h>
#include <sys/ioctl.h>

#define ORDER_FIRST 1u
#define ORDER_LAST  2u

#define ORDER_TEXT 16320

struct order_head {
	uint32_t flags; /* ORDER_FIRST, ORDER_LAST */
	uint32_t len;	/* bytes of the text; answered: those of the paths that were taken */
	int32_t error;	/* answered: why the path after them was refused, -errno; 0: none was */
	uint32_t files; /* answered: how many files the order has so far */
};

/* The answer is a head. The ioctl fails with EPERM for all but root and the user who mounted, EBUSY
 * as above, EOPNOTSUPP where nothing is read ahead (--readahead=0), EINVAL for what is none of
 * this, EFBIG, ENOMEM, and ENOTTY on what is not the root of a mount. */
struct order_batch {
	struct order_head head;
	char text[ORDER_TEXT]; /* paths, each ended by a NUL; empty ones do not count */
};

#define ORDER_IOCTL _IOWR('F', 0x70, struct order_batch)

/* Why a path is refused. */
static inline const char *order_refusal(int error)
{
	switch (error) {
	case -EISDIR:
		return "is a folder";
	case -ELOOP:
		return "is a symbolic link; name the file that it leads to";
	default:
		return "is not in the pack; paths begin below the root of the mount";
	}
}

#endif
