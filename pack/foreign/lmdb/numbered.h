/* LMDB files whose keys are the numbers of their records, "0", "1", ..., "10", and whose values are
 * samples (pack/foreign/lmdb/sample.h): what folder2lmdb, tensorpack and Image2LMDB write. Keys
 * that begin with "__" are of what can be counted, and are left out.
 *
 * A scan has 24 bytes a record in memory, and as many again while it sorts them: 61 MB for the
 * 1,281,167 of ImageNet. */
#pragma once

#include "pack/foreign/lmdb/sample.h"

enum numbered_kind {
	NUMBERED_NONE,	  /* no such file */
	NUMBERED_LABELED, /* bytes and a label */
	NUMBERED_PLAIN,	  /* bytes alone */
	NUMBERED_ARRAY,	  /* an array and a label */
	NUMBERED_OTHER,	  /* such keys, in a known encoding, but no sample */
};

/* By the first record. Returns enum numbered_kind, or the error of a read. */
int numbered_kind(struct foreign_source *source);

/* Adds to a file what is not in its sample, as its name. */
typedef void numbered_name_fn(void *context, struct foreign_file *file);

/* Adds all records, by their numbers. `name` may be NULL. As foreign_format.scan. */
int numbered_scan(struct foreign_source *source, struct foreign_tree *tree, numbered_name_fn *name,
		  void *context, struct err *err);
