/* LMDB files whose keys are names of files, and whose values are these files. */
#pragma once

#include "pack/foreign/format.h"

struct keyed {
	struct foreign_text class; /* of all files, whose keys are their names; data NULL: the keys
				      are paths */
	bool plain; /* no key has a suffix: what looks like one belongs to the name */
};

/* Whether the first record is a name and an image. 1, 0, or the error of a read. */
int keyed_probe(struct foreign_source *source);

/* A scan. What has no suffix gets one by content; keys as "__len__" are left out, with a note. */
int keyed_scan(struct foreign_source *source, struct foreign_tree *tree, const struct keyed *keyed,
	       struct err *err);
