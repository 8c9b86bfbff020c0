/* How foldstat hands a mount a reading order: by an ioctl on the mount's root, to foldfs.
 *
 *	ORDER_BEGIN -> token
 *	ORDER_ADD   token, paths below the root     as often as it takes
 *	ORDER_END   token                           from here on the mount goes by it
 *
 * An ioctl carries 16 KiB at most, so that an order comes in pieces. The kernel does not tell the
 * daemon when somebody closes a folder, nor when a process ends; a token says to which order a
 * piece belongs. There is one order on its way at a time: who begins another takes the place of
 * the one before, whose sender finds its token refused (EBUSY), or is dead. Until its end an order
 * changes nothing. A path that is refused ends it, too. */
#ifndef FS_ORDER_IOCTL_H
#define FS_ORDER_IOCTL_H

#include <errno.h>
#include <stdint.h>
#include <sys/ioctl.h>

enum order_step { ORDER_BEGIN, ORDER_ADD, ORDER_END };

#define ORDER_TEXT 16320

struct order_head {
	uint32_t step;	/* enum order_step */
	uint32_t token; /* of ORDER_BEGIN: answered */
	uint32_t len;	/* ORDER_ADD: bytes of the text; answered: those of the paths taken */
	int32_t error;	/* answered: why the path behind them was refused, -errno; 0: none was */
	uint32_t files; /* of ORDER_END: how many were ordered, answered */
};

/* The answer is a head. The ioctl fails with EPERM for all but root and who mounted, EBUSY as
 * above, EOPNOTSUPP where nothing is read ahead (--readahead=0), EINVAL for what is none of this,
 * ENOMEM, and ENOTTY on what is not the root of a mount. */
struct order_batch {
	struct order_head head;
	char text[ORDER_TEXT]; /* paths, each ended by a NUL; empty ones do not count */
};

#define ORDER_IOCTL _IOWR('F', 0x6f, struct order_batch)

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
