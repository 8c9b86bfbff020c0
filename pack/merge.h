/* Many indexes as one: the tree that several packs make together.
 *
 * The merged index is the one that a single pack of all these files would have: its entries are
 * numbered anew in the same order, and its hot sections are complete. Folders with the same path
 * become one folder, with the attributes of the first pack that has it. Two files with the same
 * path are one file if their bytes are equal. A file and a folder are never one. Where the file of
 * a hard link or alias is not in the tree, the link takes its place.
 *
 * Each entry has an origin, by which the cold sections find it: the number that it gets when the
 * entries of all packs are counted, one pack after the other. Pure; not thread-safe. Internal to
 * pack/. */
#pragma once

#include "pack/renames.h"
#include "pack/select.h"

struct merge_pack {
	const struct index *index; /* checked, with its offsets */
	uint64_t start;		   /* added to the offsets */
	const char *name;	   /* for messages */
	const char *below;	   /* the folder that the pack goes into, as "a/b"; "": the root */
	const struct renames *renames; /* of its entries; or NULL */
};

struct merge_params {
	const struct merge_pack *packs;
	unsigned count;
	struct select *select; /* NULL: everything */
	/* Loads SECTION_CHECKSUMS of a pack, to compare files with the same path. 0 or -errno. */
	int (*load_checksums)(void *context, unsigned pack, struct err *err);
	void *context;
};

struct merge {
	struct index index;
	uint32_t *origins; /* of each entry */
	uint64_t *firsts;  /* the number of each pack's first entry; one more at the end */
	unsigned count;	   /* packs */
};

/* Returns 0; -EEXIST (two packs have different files, or a file and a folder, at one path); -ENOENT
 * (nothing was selected); -EOVERFLOW (more entries than 32 bits can count); -ENOMEM; -EBADMSG. */
int merge_init(struct merge *merge, const struct merge_params *params, struct err *err);
void merge_release(struct merge *merge);

/* The pack that an origin is in; *ret_entry is its entry there. */
unsigned merge_pack_of(const struct merge *merge, uint32_t origin, uint32_t *ret_entry);
