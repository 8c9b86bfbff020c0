/* Shards of an earlier export, of another number, which readers of TARGET-* would take for some of
 * this one. */
#ifndef PACK_TOOL_EXPORT_STRAYS_H
#define PACK_TOOL_EXPORT_STRAYS_H

#include "pack/tool/export/format.h"

/* Whether one lies beside `target`, of which there will be `shards`. Returns 0; -EEXIST with a
 * sentence that begins with its path; -ENOMEM; or why the folder cannot be read, the same. */
int strays_check(const struct export_format *format, const char *target, uint64_t shards,
		 struct err *err);

#endif
