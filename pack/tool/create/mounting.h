/* A mount for a moment, by the foldfs beside this program, or that of PATH. */
#ifndef PACK_TOOL_CREATE_MOUNTING_H
#define PACK_TOOL_CREATE_MOUNTING_H

#include "base/err.h"

/* Mounts a pack on a directory, and returns when it can be used. 0, or -errno with a sentence: no
 * foldfs, or what foldfs said. */
int mounting_begin(const char *pack, const char *point, struct err *err);
void mounting_end(const char *point);

#endif
