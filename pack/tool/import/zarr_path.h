/* The path that an image gets. */
#ifndef PACK_TOOL_IMPORT_ZARR_PATH_H
#define PACK_TOOL_IMPORT_ZARR_PATH_H

#include "pack/foreign/name_tree.h"
#include "pack/tool/import/zarr_tree.h"

/* Sets it for the image in a chunk: GROUP/CLASS/NUMBER, where several arrays have the same labels
 * ARRAY/CLASS/NUMBER, and ARRAY/NUMBER without a label (FOREIGN_NO_LABEL). Returns as
 * foreign_add(); err names the array. */
int zarr_path(struct name_tree *names, const struct zarr_found *images, uint64_t number,
	      int64_t label, const char *suffix, struct buf *ret, struct err *err);

#endif
