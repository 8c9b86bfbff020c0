/* The order that foldstat is about to hand over, piece by piece: order_ioctl.h says how.
 *
 * It holds one, at 4 bytes a path. What a sender that died has left stays until somebody else
 * begins, or the mount ends. All calls are thread-safe. */
#ifndef FS_INBOX_H
#define FS_INBOX_H

#include "fs/order_ioctl.h"
#include <stddef.h>

struct inbox;
struct mount;

struct inbox *inbox_new(void);	      /* NULL: no memory */
void inbox_free(struct inbox *inbox); /* NULL is fine */

/* Takes a batch of so many bytes, from somebody who may send one. Returns 0, or what the ioctl
 * fails with; where an order is complete, the cache goes by it. */
int inbox_take(struct inbox *inbox, const struct mount *mount, const void *batch, size_t size,
	       struct order_head *ret);

#endif
