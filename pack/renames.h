/* Other names for entries of an index, as a merge is to show them: pack/merge.h. Not thread-safe.
 */
#pragma once

#include "pack/index.h"

struct renames {
	const struct index *index; /* of which these are entries */
	struct buf text;	   /* the names, each ended by NUL */
	uint64_t *names; /* of each entry: where its name is in the text, plus 1; 0: as in the
			    index; NULL: no entry has another */
	uint32_t *order; /* the entries, those of a folder sorted by these names */
};

void renames_release(struct renames *renames);

/* Gives an entry, which is not the root, another name, of 1 to FORMAT_NAME_MAX bytes. 0 or -ENOMEM.
 */
int renames_add(struct renames *renames, const struct index *index, uint32_t entry,
		const char *name, size_t len);
/* Once all are added, and before the two below. The same. */
int renames_sort(struct renames *renames);

/* The entry in this place among those of its folder, which has the places of its entries. */
static inline uint32_t renames_entry(const struct renames *renames, uint32_t place)
{
	return renames && renames->order ? renames->order[place] : place;
}

/* Not NUL-ended. `renames` may be NULL. */
const char *renames_name(const struct renames *renames, const struct index *index, uint32_t entry,
			 size_t *ret_len);
