/* What a dataset of an HDF5 file is, and the bytes of a dataset that is a file. */
#ifndef PACK_TOOL_HDF5_SHAPE_H
#define PACK_TOOL_HDF5_SHAPE_H

#include "base/buf.h"
#include "base/scope.h"
#include "base/size.h"
#define H5_USE_110_API
#include <hdf5.h>

#define IMAGE_MAX (2 * GIB) /* bytes of one image */

/* Closes any handle of the library. */
void hdf5_close(const hid_t *handle);

#define HANDLE SCOPE(hdf5_close) hid_t

struct hdf5_shape {
	int dimensions;
	uint64_t rows; /* of the first one */
	H5T_class_t class;
	H5T_class_t of; /* of the values in an array without a fixed length */
	size_t size;	/* bytes of a value, or of a value in such an array */
};

/* Returns 0 or -EBADMSG. */
int hdf5_shape_find(hid_t dataset, struct hdf5_shape *ret);

/* Reads a dataset that is one file; of an array at most `most` bytes. Returns 0, -EBADMSG, -EFBIG
 * or -ENOMEM. */
int hdf5_read_whole(hid_t dataset, const struct hdf5_shape *shape, uint64_t most,
		    struct buf *bytes);

#endif
