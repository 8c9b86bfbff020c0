/* Several packs as one dataset: pack/merge.h, with the bytes, attributes and checksums behind it.
 *
 * What it returns is used like the dataset of one pack. Its offsets are those of a reader of
 * several volumes, its id follows from those of its packs and from what was asked of them.
 * dataset_check_keys() and dataset_check_sections() are for the packs themselves. */
#ifndef PACK_DATASET_MERGE_H
#define PACK_DATASET_MERGE_H

#include "pack/dataset.h"
#include "pack/merge.h"

struct dataset_pack {
	const char *name;  /* for messages; copied */
	const char *below; /* the folder that it goes into, as "a/b"; "": the root */
	struct dataset *dataset;
};

struct dataset_merge_params {
	const struct dataset_pack *packs;
	unsigned count;
	enum merge_duplicates duplicates;
	const char *const *select; /* patterns */
	size_t select_count;	   /* 0: everything */
};

/* The datasets become the merged one's, unless it fails. Returns 0, or as merge_init(); -EEXIST
 * also where two packs have the same id; err has a sentence that names the packs. */
int dataset_merge(const struct dataset_merge_params *params, struct dataset **ret, struct err *err);

#endif
