/* What the keys of the LMDB say, against what the index says.
 *
 * Paths become keys in three ways (format.h); this turns a key back into the row of the index
 * that it belongs to, walks all keys, and hands each record with its row to a visitor. Finding
 * offsets (index_locate) and verifying (dataset_check_keys) are two visitors of one walk.
 * Internal to pack/. */
#ifndef PACK_KEYS_H
#define PACK_KEYS_H

#include "pack/index.h"

/* Rows of reserved keys beside the numbers of the sections. */
#define KEYS_ROW_SUPER	 SECTION_COUNT	      /* the superblock */
#define KEYS_ROW_UNKNOWN (SECTION_COUNT + 1u) /* a key of a later version */

/* The row that a key belongs to. */
struct keys_row {
	enum format_section section; /* START: `row` is an entry; PARTS: a row there;
					SECTION_COUNT: a reserved key, `row` says which */
	uint64_t row;
	uint32_t entry; /* START and PARTS */
	uint64_t size;	/* that its value must have; START and PARTS */
	bool link;	/* the value names another path: a hard link or alias */
};

struct keys_visitor {
	/* Either returns 0 to go on. `row` is NULL for a key that the index does not know. */
	int (*record)(void *context, const struct walker_record *record, const struct keys_row *row,
		      struct err *err);
	void *context;
};

/* Visits all records in key order. Returns 0, what the visitor returned, -EBADMSG, -EIO, -ENOMEM.
 */
int keys_walk(const struct index *index, struct walker *walker, const struct keys_visitor *visitor,
	      struct err *err);

/* Sets the offsets of all files and parts, which are forgotten, and in `super` those of the
 * sections, from the keys. Returns 0, -ENOMEM, -EBADMSG (records are missing, or one has the wrong
 * size; err names the first paths). */
int index_locate(struct index *index, struct walker *walker, struct format_super *super,
		 uint64_t *ret_super_offset, struct err *err);

#endif
