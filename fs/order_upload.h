/* The order that foldstat hands over, batch by batch: order_ioctl.h says how.
 *
 * It holds one order, 4 bytes a path. What a sender that died has left stays until another one
 * begins, or the mount ends. All calls are thread-safe. */
#ifndef FS_ORDER_UPLOAD_H
#define FS_ORDER_UPLOAD_H

#include "cache/cache.h"
#include "fs/order_ioctl.h"
#include "fs/tree.h"

struct order_upload;

/* Borrows both. NULL: no memory. */
struct order_upload *order_upload_new(const struct tree *tree, struct cache *cache);
void order_upload_free(struct order_upload *upload); /* NULL is fine */

/* Takes a batch of `size` bytes from the process `sender`, which may send one. Returns 0, or what
 * the ioctl fails with. Once an order is complete, the cache follows it. */
int order_upload_take(struct order_upload *upload, uint32_t sender, const void *batch, size_t size,
		      struct order_head *ret);

#endif
