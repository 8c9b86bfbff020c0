/* A folder as the source of a pack: scanned as a whole first, then read by many threads at once.
 *
 * Each entry of the scan, in its order, becomes an entry of the builder. */
#ifndef PACK_TOOL_IMPORT_IMPORT_DIR_H
#define PACK_TOOL_IMPORT_IMPORT_DIR_H

#include "pack/tool/import/filter.h"
#include "pack/tool/import/import.h"
#include "pack/tool/import/order.h"

/* All that is pointed to stays the caller's, and outlives the importer. */
struct import_dir_params {
	int root;	  /* the folder, open */
	unsigned workers; /* that will call read() */
	bool follow;	  /* symbolic links are packed as what they lead to */
	const struct filter *filter;
	const struct order *order;
	const struct import_watch *watch;
	struct builder *builder; /* has its root alone */
};

/* Scans the folder and adds its entries. Results as import_ops.next(). */
int import_dir_new(const struct import_dir_params *params, struct import **ret, struct err *err);

#endif
