/* Several packs as one dataset: pack/merge.h, plus bytes, attributes and checksums.
 *
 * The result is used like the dataset of one pack. Its offsets are those of a reader of several
 * volumes. Its id follows from the ids of its packs and from what was asked of them.
 * dataset_check_keys() and dataset_check_sections() work on the packs only, not on the result. */
#pragma once

#include "pack/dataset.h"
#include "pack/merge.h"

struct dataset_pack {
	const char *name;  /* for messages; copied */
	const char *below; /* the folder that it goes into, as "a/b"; "": the root */
	const char *scope; /* the folder of all that are one set, which has those of its parts;
			      NULL: the same */
	struct dataset *dataset;
};

struct dataset_merge_params {
	const struct dataset_pack *packs;
	unsigned count;
	const char *const *select;	  /* patterns */
	size_t select_count;		  /* 0: everything */
	void (*notice)(const char *line); /* what the user is to know; or NULL */
};

/* Comes before packs are merged, and before deltas hide their bases. Returns -EEXIST with a
 * sentence where two are the same pack in one folder. What repeats nothing may come twice: a pack
 * without files, such as one node of many may make, and a delta that changes nothing. */
int dataset_merge_check(const struct dataset_pack *packs, unsigned count, struct err *err);
/* The merged dataset owns the datasets, unless it fails. Returns 0, or as merge_indexes(). err has
 * a sentence that names the packs. */
int dataset_merge(const struct dataset_merge_params *params, struct dataset **ret, struct err *err);
