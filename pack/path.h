/* Paths in a tree whose entries know their names and parents; 0 is the root. Pure. Internal to
 * pack/. */
#pragma once

#include "base/buf.h"

struct path_part {
	const char *name; /* not NUL-ended */
	size_t len;
	uint32_t parent;
};

/* Appends the path of an entry, NUL-ended. Returns 0 or -ENOMEM. */
int path_add(struct buf *path, uint32_t entry,
	     struct path_part (*part)(const void *tree, uint32_t entry), const void *tree);
