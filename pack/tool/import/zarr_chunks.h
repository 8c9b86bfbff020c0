/* The chunks of an array that are there. */
#ifndef PACK_TOOL_IMPORT_ZARR_CHUNKS_H
#define PACK_TOOL_IMPORT_ZARR_CHUNKS_H

#include "pack/tool/import/zarr_chunk.h"
#include <dirent.h>

/* The names in the folder, sorted by their bytes. Returns how many there are, or -errno. */
int zarr_list(int folder, struct dirent ***ret);
void zarr_list_free(struct dirent **list, int count);

/* Appends the numbers, as uint64_t, in order. `folder` is that of the array. Files that are no
 * chunks, and folders that are links, are passed over; an array without dimensions has none.
 * Returns 0 or -errno. */
int zarr_chunks_list(int folder, const struct zarr_array *array, struct buf *ret);

#endif
