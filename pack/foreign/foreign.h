/* Datasets in files of other formats: an LMDB of folder2lmdb, TFRecords, a tar, ... Nothing of them
 * is rewritten. What a pack has in its index is found by one scan, and kept in a file of its own,
 * the index file (pack/foreign/index_file.h); then the dataset is one like any other.
 *
 * The bytes of its files are those of the container, so that it is read as a pack is. It has no
 * checksums, unless they were made (foreign_checking): what is damaged in the container is not
 * found, and a copy of it is not read, as nobody would see what is damaged there. */
#pragma once

#include "pack/dataset.h"
#include "pack/foreign/settings.h"

#define FOREIGN_UNKNOWN "not an LMDB file, nor of another format that is known"

/* Opens a pack, or a file of another format, as a dataset; of a folder that is an LMDB environment
 * its data.mdb; any other folder, and a URL that ends in '/', as its files: members.h. Returns 0,
 * or as dataset_open(); -ENOMSG also where no format recognises it; -ENODATA where it is empty, or
 * begins with zeros; -ENOANO where a format recognises it, and it has no image; -EEXIST where two
 * records are one file; -ESTALE where the file changed meanwhile; -EINTR where checking has
 * stopped. */
int foreign_open(const char *name, const struct foreign_settings *settings, struct dataset **ret,
		 struct err *err);

/* Writes the index of such a file to a path, to be published: pack/foreign/index_published.c. The
 * settings must have `checking`. Returns as foreign_open(), or -EEXIST: it is a pack, or there is
 * something else at the path. */
int foreign_publish(const char *name, const struct foreign_settings *settings, const char *path,
		    struct err *err);
