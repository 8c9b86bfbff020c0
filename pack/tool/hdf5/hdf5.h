/* The images that an HDF5 file holds as the bytes of image files. There is no standard. Three
 * layouts are common, and a file may mix them:
 *
 *	CLASS/NAME	a dataset is a file: bytes in one dimension, or one opaque value
 *	images, labels	each row of an array of arrays of bytes is a file. Beside it, `labels`, an
 *			array of as many integers, has their classes, and `names`, an array of as
 *			many strings, their names
 *
 * Bytes are taken for a file if they begin as an image does. Arrays of pixels are not read: they
 * are not files.
 *
 * libhdf5 is not thread-safe, nor is this. */
#ifndef PACK_TOOL_HDF5_HDF5_H
#define PACK_TOOL_HDF5_HDF5_H

#include "base/buf.h"
#include "base/err.h"

struct hdf5;

/* Looks through the file. Returns 0; -ENOMSG (there are no images in the file); -EBADMSG; -ENOMEM.
 * err has a sentence. */
int hdf5_open(const char *path, struct hdf5 **ret, struct err *err);
void hdf5_free(struct hdf5 *hdf5);

/* The next image: sets its path, with its label (report.h), and its bytes. Returns 0, 1 at the end,
 * or as hdf5_open(). */
int hdf5_next(struct hdf5 *hdf5, struct buf *path, struct buf *bytes, struct err *err);

#endif
