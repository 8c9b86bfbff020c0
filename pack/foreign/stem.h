/* Names of records in sets of many files. */
#ifndef PACK_FOREIGN_STEM_H
#define PACK_FOREIGN_STEM_H

#include "pack/foreign/source.h"
#include "pack/foreign/tree.h"

/* Makes made-up names begin with the name of the file: for train-00003-of-01024.tfrecord, or
 * train-00003-of-01024, with "train-00003-of-01024-". Returns 0 or -ENOMEM. */
int foreign_prefix_by_file(struct foreign_source *source, struct foreign_tree *tree);

#endif
