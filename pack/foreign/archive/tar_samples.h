/* A tar of WebDataset samples (pack/foreign/archive/webdataset.h), read in place. */
#ifndef PACK_FOREIGN_ARCHIVE_TAR_SAMPLES_H
#define PACK_FOREIGN_ARCHIVE_TAR_SAMPLES_H

#include "pack/foreign/source.h"
#include "pack/foreign/tree.h"

/* Whether the first sample has a class: 1, 0, or as tar_members_next(). */
int tar_samples_have_classes(struct foreign_source *source, struct err *err);

/* As foreign_format.scan(). */
int tar_samples_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err);

#endif
