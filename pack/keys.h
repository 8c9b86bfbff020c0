/* From the keys of the LMDB to rows of the index. A path becomes a key in one of three ways
 * (format.h). A walk over all keys calls a visitor with each record and its row. There are two
 * visitors: finding offsets (index_locate) and verifying (dataset_check_keys). Internal to pack/.
 */
#pragma once

#include "pack/index.h"

/* The row that a key belongs to. */
struct keys_row {
	enum format_section section; /* START: `row` is an entry; PARTS: a row there */
	uint64_t row;
	uint32_t entry;
	uint64_t size; /* that its value must have */
	bool link;     /* the value names another path: a hard link or alias */
};

/* Returns 0 to go on. `row` is NULL for a key that the index does not know. */
typedef int keys_visit_fn(void *context, const struct walker_record *record,
			  const struct keys_row *row, struct err *err);

/* Visits all records in key order, except the superblock, sections and other reserved keys. Returns
 * 0, what `visit` returned, -EBADMSG, -EIO or -ENOMEM. */
int keys_walk(const struct index *index, struct walker *walker, keys_visit_fn *visit, void *context,
	      struct err *err);

/* Whether an entry has a record under its path: a file that is not split, or a link to one whose
 * bytes are not in the base of a delta. */
bool keys_has_record(const struct index *index, uint32_t entry);

/* Sets the offsets of all files and parts from the keys, after index_forget_offsets(). Returns 0,
 * -ENOMEM, -EBADMSG (records are missing, or one has the wrong size; err names the first paths). */
int index_locate(struct index *index, struct walker *walker, struct err *err);
