/* A tar of WebDataset samples as folders of classes: CLASS/KEY.jpg.
 *
 * A sample is what follows each other and has one key: the path up to the first dot of its last
 * part. Its class is what the member KEY.cls says: a label, as "17", or a name. Without that member
 * it is the folder of the key. A folder of the key is one in the class, too: keys are different,
 * the last parts of them need not be.
 *
 * Only images become files. What else there is (.json, .txt, masks as .npy) is noted, and left out,
 * and so are members named __x__, of which WebDataset says that they are no samples. */
#ifndef PACK_FOREIGN_TAR_SAMPLES_H
#define PACK_FOREIGN_TAR_SAMPLES_H

#include "pack/foreign/source.h"
#include "pack/foreign/tree.h"

/* Whether the first sample has a class: 1, 0, or as tar_members_next(). */
int tar_samples_have_classes(struct foreign_source *source, struct err *err);

/* As foreign_format.scan(). */
int tar_samples_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err);

#endif
