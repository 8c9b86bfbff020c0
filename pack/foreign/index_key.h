/* What an index file belongs to: a container, and what was asked for. */
#pragma once

#include "pack/foreign/tree_internal.h"

struct index_key {
	char text[192];	     /* the first lines of its options: pack/foreign/index_file.h */
	char published[128]; /* those of an index that a publisher made, but for the next */
	char object[32];     /* the line `object`; "": there is none */
	char copy[128];	     /* what a copy of the container in the disk cache is known by */
};

/* Returns 0, or why the container cannot be read. */
int index_key_make(const struct foreign_tree *tree, struct index_key *ret);
