/* A folder as the source of a pack: scanned as a whole first, then read by many threads at once.
 *
 * Each entry of the scan, in its order, becomes an entry of the builder. */
#ifndef PACK_TOOL_IMPORT_IMPORT_DIR_H
#define PACK_TOOL_IMPORT_IMPORT_DIR_H

#include "pack/tool/import/slices.h"

/* All that is pointed to stays the caller's, and outlives the importer. */
struct import_dir_params {
	struct scan_params scan; /* `jobs` workers will call read() */
	const struct order *order;
	/* NULL: all of the folder. Else what was cut of it is not scanned again. */
	const struct slices *slices;
	uint32_t slice; /* the one to pack */
};

/* Scans the folder and adds its entries. Results as import_ops.next(). */
int import_dir_new(const struct import_dir_params *params, struct import **ret, struct err *err);

#endif
