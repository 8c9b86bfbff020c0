/* Files that come with a program: beside it where it was built, and in another folder where it is
 * installed. */
#pragma once

#include "base/buf.h"

/* Finds a file that can be read: `built` and `installed` are folders from that of the program on,
 * "" or with a slash behind them. 0, -ENOENT or -errno. */
int beside_find(const char *built, const char *installed, const char *name, struct buf *ret);
