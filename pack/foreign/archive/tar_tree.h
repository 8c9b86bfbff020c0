/* A tar as the folder that it is of.
 *
 * Where a path comes again, the first one stays, as in a pack made of the tar. A tar in the tar is
 * a folder of its name without the suffix, as well: n01440764.tar in ILSVRC's train.tar becomes
 * n01440764/. What a tree cannot show, as devices, is counted, noted, and left out. */
#ifndef PACK_FOREIGN_ARCHIVE_TAR_TREE_H
#define PACK_FOREIGN_ARCHIVE_TAR_TREE_H

#include "pack/foreign/source.h"
#include "pack/foreign/tree.h"

/* As foreign_format.scan(). */
int tar_tree_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err);

#endif
