/* A tar, or several (tar_set.h), as the source of a pack: read once, from front to back, so that
 * files are stored in the order in which they come, and nothing is known of them beforehand.
 *
 * A tar can have what a folder cannot. Where a path comes again, other than as a folder, the first
 * entry stays and the others are bad inputs. So are hard links to files that have not come, entries
 * below a path that is no folder, and sparse files with more than IMPORT_TAR_HOLES bytes of holes.
 * Folders without a member are made. */
#ifndef PACK_TOOL_IMPORT_IMPORT_TAR_H
#define PACK_TOOL_IMPORT_IMPORT_TAR_H

#include "pack/tool/import/filter.h"
#include "pack/tool/import/import.h"
#include "pack/tool/import/tar_set.h"

/* Holes take nothing in the tar, and would all be stored. */
#define IMPORT_TAR_HOLES (16 * GIB)

/* All that is pointed to stays the caller's, and outlives the importer. */
struct import_tar_params {
	struct tar_set_params from;
	unsigned strip; /* leading components that paths lose; what has no more is left out */
	const struct filter *filter;
	const struct import_watch *watch;
	struct builder *builder;
};

/* Reads up to the first entry. 0; what watch->broken() returned, where it is no tar or cannot be
 * read; -EINTR; -ENOMEM. */
int import_tar_new(const struct import_tar_params *params, struct import **ret);

#endif
