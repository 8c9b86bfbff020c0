/* What every target of a foreign format does with a file. */
#pragma once

#include "pack/foreign/format.h"

/* Aborts where a file of the tree does not lie within the bytes. */
void fuzz_check_tree(const struct foreign_tree *tree);

/* Scans it as this format: aborts where a file of the tree does not lie within the bytes, or where
 * it is refused without a sentence. `name` is the one of the file. */
void fuzz_scan(const struct foreign_format *format, const struct foreign_settings *settings,
	       struct reader *reader, const char *name);
