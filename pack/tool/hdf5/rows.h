/* An array of arrays of bytes, where each row is a file, with the labels and names of the rows
 * beside it. */
#ifndef PACK_TOOL_HDF5_ROWS_H
#define PACK_TOOL_HDF5_ROWS_H

#include "pack/tool/hdf5/shape.h"
#include <stdbool.h>

struct hdf5_rows {
	uint64_t count;
	int64_t *labels; /* of each row, or NULL */
	char **names;	 /* the same */
};

/* Whether a dataset is such an array. */
bool hdf5_has_rows(const struct hdf5_shape *shape);

/* Reads the labels and names beside the array of `count` rows at `path`. Returns 0, -EBADMSG,
 * -EFBIG or -ENOMEM. */
int hdf5_rows_init(hid_t file, const char *path, uint64_t count, struct hdf5_rows *ret);
void hdf5_rows_release(struct hdf5_rows *rows);

/* The bytes of a row. Returns as hdf5_read_whole(). */
int hdf5_read_row(hid_t dataset, uint64_t row, struct buf *bytes);

#endif
