/* foldstat --order: hands a mount the order of the paths in a file. */
#ifndef FS_STAT_ORDER_H
#define FS_STAT_ORDER_H

#include "base/err.h"
#include <stdint.h>

/* Sends the paths in `file`, one a line; all of them are taken, or nothing changes. Without any
 * path, the mount has no order from then on. Returns 0 and how many files were ordered, or -errno
 * with a sentence that begins with the path at fault. */
int order_send(const char *file, const char *mountpoint, uint32_t *ret_files, struct err *err);

#endif
