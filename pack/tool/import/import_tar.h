/* A tar, or several (tar_set.h), as the source of a pack. It is read once, from front to back:
 * files are stored in the order in which they come, and nothing is known of them in advance.
 *
 * A tar can have what a folder cannot. If a path comes again, and is not a folder both times, the
 * first entry stays and the others are bad inputs. Also bad are hard links to files that have not
 * come yet, entries below a path that is not a folder, and sparse files with more than
 * IMPORT_TAR_HOLES bytes of holes. Folders without a member are made. */
#ifndef PACK_TOOL_IMPORT_IMPORT_TAR_H
#define PACK_TOOL_IMPORT_IMPORT_TAR_H

#include "pack/tool/import/filter.h"
#include "pack/tool/import/import.h"
#include "pack/tool/import/tar_set.h"

/* Holes take no space in the tar, but all of them would be stored. */
#define IMPORT_TAR_HOLES (16 * GIB)

/* Everything that is pointed to stays the caller's and outlives the importer. */
struct import_tar_params {
	struct tar_set_params from;
	unsigned strip; /* leading components to cut off paths; shorter paths are left out */
	const struct filter *filter;
	const struct import_watch *watch;
	struct builder *builder;
};

/* Reads up to the first entry. 0; what watch->broken() returned, if it is not a tar or cannot be
 * read; -EINTR; -ENOMEM. */
int import_tar_new(const struct import_tar_params *params, struct import **ret);

#endif
