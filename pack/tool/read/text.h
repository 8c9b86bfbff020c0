/* How the sub-commands write entries: lines of ls, fields of JSON. */
#ifndef PACK_TOOL_READ_TEXT_H
#define PACK_TOOL_READ_TEXT_H

#include "base/json.h"
#include "pack/dataset.h"

#define TEXT_MODE 11 /* "-rw-r--r--" and its NUL */

/* As ls -l shows it. Returns buf. */
const char *text_mode(enum format_kind kind, mode_t mode, char buf[static TEXT_MODE]);

/* "file", "directory", "symlink", "hardlink". */
const char *text_kind(enum format_kind kind);

/* The checksum that stands for a file: the XXH3-64 of its bytes where it has one extent at
 * most; else the XXH3-64 of its extents' sums, each 8 bytes, little-endian.
 * 0, or what loading the sums gave. */
int text_sum(struct dataset *dataset, uint32_t entry, uint64_t *ret);

#endif
