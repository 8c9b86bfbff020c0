/* The labels of images. */
#ifndef PACK_TOOL_IMPORT_ZARR_LABELS_H
#define PACK_TOOL_IMPORT_ZARR_LABELS_H

#include "pack/tool/import/zarr_tree.h"

/* Keeps the chunk that was read last. */
struct zarr_labels {
	int root;
	const struct zarr_found *images; /* the caller's */
	bool named;			 /* labels have names, so they may have over four digits */
	struct buf values;		 /* of the chunk; none: it is not there */
	uint64_t chunk;			 /* its number, plus 1; 0: none was read yet */
};

void zarr_labels_release(struct zarr_labels *labels);

/* The label of the image in a chunk of `images`; FOREIGN_NO_LABEL: these have none. Returns 0;
 * -EBADMSG (the chunk of labels is damaged); -EOPNOTSUPP (the label has too many digits); -ENOSYS
 * (a library that unpacks it is missing); -EFBIG; -ENOMEM; or what reading gave. err has the path.
 */
int zarr_label(struct zarr_labels *labels, uint64_t number, int64_t *ret, struct err *err);

#endif
