/* A folder that is cut into several packs.
 *
 * The folder is scanned once. Its files, in the order in which they are stored, are cut into runs,
 * the slices. The cuts follow from the paths and sizes alone, so machines that see the same folder
 * cut it the same way. A slice has its files, their other names, the folders on the way to them,
 * and the symbolic links that follow them in the order of paths. The first slice also has the empty
 * folders. So all slices together are the folder. */
#pragma once

#include "pack/scan.h"
#include "pack/shard.h"
#include "pack/tool/import/order.h"

struct slices;

/* One of size and parts is 0. */
struct slices_cut {
	uint64_t size;	/* most bytes of a pack, unless one file is larger */
	uint32_t parts; /* this many slices of about the same size */
	uint64_t seed;	/* of the hashes */
};

#define SLICES_MOST 99999u

/* Scans a folder; scan->into is not used. Returns 0, -E2BIG (more than SLICES_MOST), or as
 * order_scan(). */
int slices_new(const struct scan_params *scan, const struct order *order,
	       const struct slices_cut *cut, struct slices **ret, struct err *err);
void slices_free(struct slices *slices); /* NULL is fine */

uint32_t slices_count(const struct slices *slices);
/* The bytes of the files of a slice. */
uint64_t slices_bytes(const struct slices *slices, uint32_t slice);
/* What the pack of a slice says of it. */
struct shard slices_shard(const struct slices *slices, uint32_t slice);

/* The entries of the whole folder. */
const struct builder *slices_entries(const struct slices *slices);

/* Adds the entries of a slice to a builder that has only its root. *ret_files must be freed: the
 * files in their order. Returns 0, -ENOMEM, or what the builder returned. */
int slices_add(const struct slices *slices, uint32_t slice, struct builder *builder,
	       struct scan_counts *ret, uint32_t **ret_files, struct err *err);
