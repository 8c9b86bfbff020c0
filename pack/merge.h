/* Many indexes as one: the tree that several packs make together.
 *
 * The merged index is the one that a single pack of all these files would have: its entries are
 * numbered anew in the same order, and its hot sections are complete. Folders with the same path
 * become one folder, with the attributes of the first pack that has it. Two files with the same
 * path are one file if their bytes are equal. A file and a folder are never one. Where the file of
 * a hard link or alias is not in the tree, the link takes its place.
 *
 * Each entry has an origin, by which the cold sections find it: the number that it gets when the
 * entries of all packs are counted, one pack after the other. Not thread-safe. Internal to pack/.
 */
#pragma once

#include "pack/renames.h"
#include "pack/select.h"

struct dataset;
struct dataset_merge_params;

struct merge {
	struct index index;
	uint32_t *origins; /* of each entry */
	uint64_t *firsts;  /* the number of each pack's first entry; one more at the end */
	unsigned count;	   /* packs */
};

/* Of the packs of a dataset, whose indexes are checked and have their offsets, and whose readers
 * are joined. `renames` has one of each pack; `select` may be NULL: everything. Loads checksums to
 * compare files with the same path. Returns 0; -EEXIST (two packs have different files, or a file
 * and a folder, at one path); -ENOENT (nothing was selected); -EOVERFLOW (more entries than 32 bits
 * can count); -ENOMEM; -EBADMSG. */
int merge_init(struct merge *merge, const struct dataset *dataset,
	       const struct dataset_merge_params *params, const struct renames *renames,
	       struct select *select, struct err *err);
void merge_release(struct merge *merge);

/* The pack that an origin is in; *ret_entry is its entry there. */
unsigned merge_pack_of(const struct merge *merge, uint32_t origin, uint32_t *ret_entry);
