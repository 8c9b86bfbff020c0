/* A tar as the folder that it is of: pack/foreign/archive/archive_tree.h says how.
 *
 * A tar in the tar is a folder of its name without the suffix: n01440764.tar in ILSVRC's train.tar
 * becomes n01440764/. So are tars in that, and, where foreign_watch.unpack() unpacks them,
 * compressed ones. One that is damaged is the file that it is, and noted.
 */
#pragma once

#include "pack/foreign/source.h"
#include "pack/foreign/tree.h"

/* As foreign_format.scan(). */
int tar_tree_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err);

/* Notes bytes behind its end, if there are any. 0 or -ENOMEM. */
int tar_note_behind(struct foreign_tree *tree, uint64_t bytes);

/* The length of a path without the suffix of a tar, compressed or not; 0: it has none, or what is
 * left is no name: ".tar", "..tar" and "...tar". */
size_t tar_stem(struct foreign_text path, bool *ret_compressed);
