/* The sections of an index, from the entries of a tree: whoever knows these, in the order of the
 * index, gives each of them as a row. Internal to pack/. */
#pragma once

#include "pack/index.h"

struct index_row {
	const char *name;
	size_t name_len;
	uint32_t parent;
	enum format_kind kind;
	uint64_t start;	      /* as enum format_kind says; of a split file, added to its parts */
	uint64_t size;	      /* the same */
	const uint8_t *parts; /* of a split file, as in SECTION_PARTS; NULL: they lie end to end */
	const char *target;   /* of a symbolic link */
	const uint64_t *checksums; /* of its extents; NULL: zeros */
	uint16_t mode;
	int64_t mtime;
	uint8_t image;
	uint32_t width, height;
};

struct index_rows {
	uint32_t count;
	struct index_row (*row)(const void *context, uint32_t entry);
	const void *context;
};

/* The shapes of all sections but the options, which have none. */
void index_rows_shape(const struct index_rows *rows, struct format_section_ref ret[SECTION_COUNT]);
/* Fills the sections that have data, which must have these shapes. */
void index_rows_fill(const struct index_rows *rows, struct index *index);
/* Makes the sections in front of `end`. Returns 0 or -ENOMEM. */
int index_rows_make(const struct index_rows *rows, enum format_section end, struct index *ret);
