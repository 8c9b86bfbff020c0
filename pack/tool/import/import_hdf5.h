/* An HDF5 file (hdf5.h) as the source of a pack: a process makes a tar of it, which import_tar.h
 * reads. So it is read once, one image at a time. */
#ifndef PACK_TOOL_IMPORT_IMPORT_HDF5_H
#define PACK_TOOL_IMPORT_IMPORT_HDF5_H

#include "pack/tool/import/hdf5.h"

struct import_hdf5;

/* Returns 0, or as hdf5_open(). */
int import_hdf5_new(const char *path, const char *classes, struct import_hdf5 **ret,
		    struct err *err);

/* Where the tar is read from; it stays the importer's. */
int import_hdf5_tar(const struct import_hdf5 *hdf5);

/* Why the tar, which has been read to its end, ended too early: -errno with a sentence, or 0. */
int import_hdf5_error(struct import_hdf5 *hdf5, struct err *err);

/* Ends the process. NULL is fine. */
void import_hdf5_free(struct import_hdf5 *hdf5);

#endif
