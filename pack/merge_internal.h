/* What merge.c (which entries there are, in which order) and merge_index.c (their sections)
 * share. */
#pragma once

#include "pack/merge.h"

/* An entry of the merged tree. */
struct merge_row {
	const char *name;	  /* in the names of its pack, or in merge_pack.below */
	uint32_t origin;	  /* where its attributes come from */
	uint32_t place;		  /* where its bytes come from: an origin, too */
	uint32_t parent;	  /* a row before it; the root is its own */
	uint32_t child, children; /* of a folder: its first row, and how many */
	uint8_t name_len;
	uint8_t kind;
};

struct merge_rows {
	struct merge_row *rows;
	uint32_t count;
	uint32_t origins; /* of all packs */
};

/* Makes the hot sections from the rows, and checks them. 0, -ENOMEM or -EBADMSG. */
int merge_index(struct merge *merge, const struct merge_params *params, struct merge_rows *rows,
		struct err *err);
