/* The classes of several files of other formats as those of one file that has all their records.
 *
 * Each file was looked at by itself, and its index says what that decided. Of files that are one
 * set other things may follow from all of them, and then folders of classes get other names, and
 * labels other numbers:
 *
 *	whether labels count from 0 or 1	from 0 in all where a label is 0 in one
 *	whether folders have numbers		where names of all of them sort otherwise than
 *						labels
 *	how many digits these have		those of the greatest label
 *	the name of a label			that of another file, where this one has none
 *
 * What no folder can put right is told: labels with several names, names with several labels. Packs
 * keep their folders; what is in NAME/= is a set of its own. Not thread-safe. Internal to pack/. */
#pragma once

#include "pack/dataset_merge.h"
#include "pack/labels.h"
#include "pack/renames.h"

/* `renames` has one of each pack, all zero, which this adds to. Appends the labels of all, and what
 * is to be told, lines that end with NUL. Returns 0, -ENOMEM, or -EINVAL (a list of
 * classes ends before a label that counts from 0). */
int labels_join(const struct dataset_pack *packs, unsigned count, struct renames *renames,
		struct labels *ret_labels, struct buf *ret_notes, struct err *err);
