/* foldstat --order: gives a mount the order of the paths in a file. */
#pragma once

#include "base/err.h"
#include <stdint.h>

/* Sends the paths in `file`, one a line. Either all are taken, or nothing changes. If the file has
 * no paths, the mount drops its order. Returns 0 and how many files are ordered, or -errno with a
 * sentence that begins with the path at fault. */
int order_send(const char *file, const char *mountpoint, uint32_t *ret_files, struct err *err);
