/* An HDF5 file as the source of a pack. foldpack-hdf5 (pack/tool/hdf5/) makes a tar of it, which
 * import_tar.h reads. So the file is read once, one image at a time. */
#ifndef PACK_TOOL_IMPORT_IMPORT_HDF5_H
#define PACK_TOOL_IMPORT_IMPORT_HDF5_H

#include "base/err.h"
#include <stdbool.h>

struct import_hdf5;

/* Whether a file begins as HDF5 does. */
bool import_hdf5_is(int fd);

/* Starts the program, and waits until it has looked through the file. Returns 0;
 * -EOPNOTSUPP (the program is not installed);
 * -ELIBACC (libhdf5 is not installed); -ENOMSG (the file has no images); -EBADMSG; -ENOMEM. err has
 * a sentence. */
int import_hdf5_new(const char *path, struct import_hdf5 **ret, struct err *err);

/* The descriptor to read the tar from; it stays the importer's. */
int import_hdf5_tar(const struct import_hdf5 *hdf5);

/* Why the tar ended too early: -errno with a sentence, or 0. Does not wait for a program that is
 * still writing it. */
int import_hdf5_error(struct import_hdf5 *hdf5, struct err *err);

/* Ends the process. NULL is fine. */
void import_hdf5_free(struct import_hdf5 *hdf5);

#endif
