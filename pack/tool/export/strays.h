/* Shards of an earlier export with another number of shards. Readers of TARGET-* would take them
 * for shards of this one. */
#ifndef PACK_TOOL_EXPORT_STRAYS_H
#define PACK_TOOL_EXPORT_STRAYS_H

#include "pack/tool/export/format.h"

/* Whether there is one beside `target`, which will have `shards`. Returns 0; or, with a sentence
 * that begins with a path, -EEXIST (there is one) or why the folder cannot be read; or -ENOMEM. */
int strays_check(const struct export_format *format, const char *target, uint64_t shards,
		 struct err *err);

#endif
