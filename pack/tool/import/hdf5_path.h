/* The paths of what foldpack-hdf5 writes (pack/tool/hdf5/report.h): the label of an image becomes
 * the folder of its class. One thread. */
#ifndef PACK_TOOL_IMPORT_HDF5_PATH_H
#define PACK_TOOL_IMPORT_HDF5_PATH_H

#include "pack/foreign/name_tree.h"
#include "pack/tool/import/tar.h"

struct hdf5_paths;

/* As name_tree_new(). */
int hdf5_paths_new(const struct foreign_settings *settings, const char *shown,
		   struct hdf5_paths **ret, struct err *err);
void hdf5_paths_free(struct hdf5_paths *paths); /* NULL is fine */

/* Replaces the path of an entry, until the next call. As foreign_add(). */
int hdf5_path(struct hdf5_paths *paths, struct tar_entry *entry, struct err *err);

#endif
