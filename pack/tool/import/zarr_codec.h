/* The codecs of an array, as its metadata names them. Pure. */
#ifndef PACK_TOOL_IMPORT_ZARR_CODEC_H
#define PACK_TOOL_IMPORT_ZARR_CODEC_H

#include "pack/tool/import/zarr_json.h"
#include "pack/tool/import/zarr_meta.h"

/* Sets what the bytes of the chunks are. Returns 0 or -EOPNOTSUPP: the images are not whole files.
 */
int zarr_codecs_read(struct zarr_array *array, json_object *meta, struct err *err);

#endif
