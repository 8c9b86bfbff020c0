/* Orders in which files will be read, as users write them: a path a line. They are turned into what
 * the cache uses: first extents.
 *
 * Paths begin below the mount's root; "./", leading and doubled slashes do not count. Empty files
 * are left out, because nothing of them is ever read. */
#pragma once

#include "base/err.h"
#include "cache/cache.h"
#include "fs/order_ioctl.h"
#include "fs/tree.h"

/* Gives the cache the order in a file. Returns 0, or -errno with a sentence that names the file
 * and, if a line is at fault, the line. A file without any path is refused (-EINVAL). */
int order_load(const struct tree *tree, struct cache *cache, const char *file, struct err *err);

/* Takes the order that foldstat sends, batch by batch (order_ioctl.h). It holds one order, 4 bytes
 * a path. What a sender left when it died stays until another begins, or the mount ends.
 * Thread-safe. */
struct order_upload;

/* Borrows both. NULL: no memory. */
struct order_upload *order_upload_new(const struct tree *tree, struct cache *cache);
void order_upload_free(struct order_upload *upload); /* NULL is fine */

/* Takes a batch from the process `sender`, and turns it into the answer. Returns 0, or what the
 * ioctl fails with. Once an order is complete, the cache follows it. */
int order_upload_take(struct order_upload *upload, uint32_t sender, struct order_batch *batch);
