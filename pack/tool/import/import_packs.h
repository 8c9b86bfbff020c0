/* A dataset as the source of a pack: packs, and files of other formats. Files are stored in the
 * order in which their bytes lie in the source, so it is read from front to back. Those of a delta
 * are stored in the order of a folder, so that the pack is that of the folder. */
#pragma once

#include "pack/filter.h"
#include "pack/tool/import/import.h"

/* Everything that is pointed to stays the caller's and outlives the importer. A folder that holds
 * only what the filter does not want does not become an entry. */
struct import_packs_params {
	struct dataset *dataset;
	struct filter *filter;
	const struct scan_watch *watch;
	struct builder *builder; /* has its root alone */
};

/* Adds all entries. 0, -ENOMEM, what the watch returned, or what the builder or loading the
 * attributes returned (err has its sentence). */
int import_packs_new(const struct import_packs_params *params, struct import **ret,
		     struct err *err);
