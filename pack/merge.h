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
struct dataset_packs;

/* Of the packs of a dataset, whose indexes are checked and have their offsets, and whose readers
 * are joined: its index, with the origins. `renames` has one of each pack; `select` may be NULL:
 * everything. Loads checksums to compare files with the same path. Returns 0; -EEXIST (two packs
 * have different files, or a file and a folder, at one path); -ENOENT (nothing was selected);
 * -EOVERFLOW (more entries than 32 bits can count); -ENOMEM; -EBADMSG. */
int merge_indexes(struct dataset *dataset, const struct dataset_merge_params *params,
		  const struct renames *renames, struct select *select, struct err *err);

/* The pack that an origin is in; *ret_entry is its entry there. */
unsigned merge_pack_of(const struct dataset_packs *packs, uint32_t origin, uint32_t *ret_entry);
/* As dataset_need_section() of one of them, whose name err begins with. */
int merge_need_section(const struct dataset_packs *packs, unsigned i, enum format_section section,
		       struct err *err);
