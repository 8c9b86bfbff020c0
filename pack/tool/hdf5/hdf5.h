/* The images that an HDF5 file holds as the bytes of their files. There is no standard; three
 * layouts are common, and files may mix them:
 *
 *	CLASS/NAME	a dataset of one dimension of bytes, or one opaque value, is a file
 *	images, labels	an array of arrays of bytes is a file a row; labels, an array of as many
 *			integers beside it, has their classes, and names, of as many strings, names
 *
 * Bytes are taken for a file where they begin as an image does. Arrays of pixels are not read: they
 * have no files.
 *
 * libhdf5 is not thread-safe, nor is this. */
#ifndef PACK_TOOL_HDF5_HDF5_H
#define PACK_TOOL_HDF5_HDF5_H

#include "base/buf.h"
#include "base/err.h"

struct hdf5;

/* Looks through the file. `classes` is a file with the names of labels, a line each, or NULL.
 * Returns 0; -ENOMSG (there are no images in it); -EBADMSG; -ENOMEM; err has a sentence. */
int hdf5_open(const char *path, const char *classes, struct hdf5 **ret, struct err *err);
void hdf5_free(struct hdf5 *hdf5);

/* The next image: sets its path and its bytes. Returns 1 at the end, or as hdf5_open(). */
int hdf5_next(struct hdf5 *hdf5, struct buf *path, struct buf *bytes, struct err *err);

#endif
