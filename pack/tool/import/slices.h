/* A folder dealt out to several packs.
 *
 * The folder is scanned once; its files, in the order in which they are stored, are cut into runs,
 * the slices. Where the cuts are follows from the paths and sizes alone, so that machines which see
 * the same folder cut it alike. A slice has its files, the further names of these, the folders on
 * the way to them, and the symbolic links that follow them in the order of paths; the first slice
 * has the folders that are empty. So the slices together are the folder. */
#ifndef PACK_TOOL_IMPORT_SLICES_H
#define PACK_TOOL_IMPORT_SLICES_H

#include "pack/shard.h"
#include "pack/tool/import/order.h"
#include "pack/tool/import/scan.h"

struct slices;

/* Size or parts is 0. */
struct slices_cut {
	uint64_t size;	/* a pack of a slice takes no more bytes than this, unless one file does */
	uint32_t parts; /* as many slices, of about as many bytes each */
	uint64_t seed;	/* of the hashes */
};

#define SLICES_MOST 99999u

/* Scans a folder; scan->builder is not used. Returns 0, -E2BIG (more than SLICES_MOST), or as
 * scan_add() and order_files(). */
int slices_new(const struct scan_params *scan, const struct order *order,
	       const struct slices_cut *cut, struct slices **ret, struct err *err);
void slices_free(struct slices *slices); /* NULL is fine */

uint32_t slices_count(const struct slices *slices);
/* The bytes of the files of a slice. */
uint64_t slices_bytes(const struct slices *slices, uint32_t slice);
/* What is said of a slice in its pack. */
struct shard slices_shard(const struct slices *slices, uint32_t slice);

/* The entries of the whole folder. */
const struct builder *slices_entries(const struct slices *slices, uint64_t *ret_count);

/* Adds the entries of a slice to a builder that has its root alone. *ret_files is to be freed: the
 * files in their order. Returns 0, -ENOMEM, or what the builder gave. */
int slices_add(const struct slices *slices, uint32_t slice, struct builder *builder,
	       struct scan_counts *ret, uint32_t **ret_files, struct err *err);

#endif
