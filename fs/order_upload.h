/* The order that foldstat is about to hand over, piece by piece: order_ioctl.h says how.
 *
 * It holds one, at 4 bytes a path. What a sender that died has left stays until somebody else
 * begins, or the mount ends. All calls are thread-safe. */
#ifndef FS_ORDER_UPLOAD_H
#define FS_ORDER_UPLOAD_H

#include "fs/order_ioctl.h"
#include <stddef.h>

struct order_upload;
struct mount;

struct order_upload *order_upload_new(void);	     /* NULL: no memory */
void order_upload_free(struct order_upload *upload); /* NULL is fine */

/* Takes a batch of so many bytes, from somebody who may send one. Returns 0, or what the ioctl
 * fails with; where an order is complete, the cache goes by it. */
int order_upload_take(struct order_upload *upload, const struct mount *mount, const void *batch,
		      size_t size, struct order_head *ret);

#endif
