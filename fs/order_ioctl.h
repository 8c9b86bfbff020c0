/* How foldstat hands a mount a reading order: by ioctls on the mount's root, to foldfs.
 *
 *	ORDER_FIRST text	a new order
 *	text			as often as it takes
 *	ORDER_LAST  text	the mount follows the order from now on
 *
 * The text is a file of paths below the root, one a line. It may be cut anywhere: an ioctl carries
 * 16 KiB at most, so the text comes in batches. A short one is FIRST and LAST. The kernel does not
 * tell the daemon when a folder is closed or a process ends. So a mount takes one order at a time,
 * from the process that sent FIRST last: the next batch of an earlier sender is refused (EBUSY). An
 * order changes nothing until LAST. A path that is refused ends it. */
#pragma once

#include <stdint.h>
#include <sys/ioctl.h>

#define ORDER_FIRST 1u
#define ORDER_LAST  2u

#define ORDER_TEXT 16320

/* The answer: how many files the order has so far; and in the text why it was refused, without a
 * NUL, or nothing. The ioctl fails with EPERM for all but root and the user who mounted, EBUSY as
 * above, EOPNOTSUPP if nothing is read ahead (--readahead=0), EINVAL for malformed batches, EFBIG,
 * ENOMEM, and ENOTTY on what is not the root of a mount. */
struct order_batch {
	uint32_t flags; /* ORDER_FIRST, ORDER_LAST */
	uint32_t len;	/* bytes of the text */
	uint32_t files;
	char text[ORDER_TEXT];
};

#define ORDER_IOCTL _IOWR('F', 0x70, struct order_batch)
