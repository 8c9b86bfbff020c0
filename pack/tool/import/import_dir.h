/* A folder as the source of a pack. It is scanned as a whole first, then many threads read it.
 *
 * Each entry of the scan becomes an entry of the builder, in the same order. */
#pragma once

#include "pack/tool/import/import.h"
#include "pack/tool/import/slices.h"

/* Everything that is pointed to stays the caller's and outlives the importer. */
struct import_dir_params {
	struct scan_params scan; /* `jobs` workers will call read(); `into` is not used */
	struct builder *builder; /* has its root alone */
	const struct order *order;
	/* NULL: all of the folder. Otherwise the folder was scanned to be cut, and is not scanned
	 * again. */
	const struct slices *slices;
	uint32_t slice; /* the one to pack */
};

/* Scans the folder and adds its entries. Returns as import_ops.next(). */
int import_dir_new(const struct import_dir_params *params, struct import **ret, struct err *err);
