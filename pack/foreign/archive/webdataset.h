/* Samples of WebDataset as folders of classes, CLASS/KEY.jpg: what becomes of the members of a tar,
 * which come one after the other.
 *
 * A sample is what follows each other and has one key: the path up to the first dot of its last
 * part. Its class is what the member KEY.cls says: a label, as "17", or a name. Without that member
 * it is the folder of the key. A folder of the key is one in the class, too: keys are different,
 * the last parts of them need not be.
 *
 * Only images become files; one that comes again replaces the one before it, as where the tar is
 * unpacked. What else there is (.json, .txt, masks as .npy) is noted, and left out, and so are
 * members named __x__, of which WebDataset says that they are no samples, and samples called so. */
#pragma once

#include "pack/foreign/archive/archive_tree.h"
#include "pack/foreign/source.h"
#include "pack/foreign/tree.h"

/* What was seen of the sample in hand. */
struct webdataset_look {
	struct buf key;
	bool image, class;
};

/* Whether the sample that the member is of has both an image and a class with it, and had not
 * before: 1, 0 or -ENOMEM. */
int webdataset_look(struct webdataset_look *look, const struct archive_member *member);
void webdataset_look_release(struct webdataset_look *look);

/* Whether one of the first samples of the tar has a class: 1, 0, -ENOMEM, or the error of a read.
 * More than some MB are not asked of a server for that, which a scan would ask for again. */
int webdataset_has_classes(struct foreign_source *source, struct err *err);

/* A scan: pack/foreign/format.h. */
int webdataset_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err);
