/* Adds the tree below a directory to a builder: what is there, in which order.
 *
 * Entries come in the order of their future keys, the bytes of their paths: siblings are sorted as
 * if the names of directories ended in '/', and each directory comes before what is in it. The
 * order, also of the calls to the watch, depends on nothing but the tree. Symbolic links are noted,
 * and followed only if that is asked for. Filesystems that are mounted below are part of the tree.
 * No file is read.
 *
 * A file with several names in the tree is a FORMAT_FILE under the first name and a FORMAT_HARDLINK
 * under the others. */
#pragma once

#include "pack/tool/import/filter.h"
#include "pack/tool/import/import.h"

/* A stat that takes longer waits for a disk or a server: then many at the same time are faster. */
#define SCAN_PATIENCE_NS ((uint64_t)50000)

/* All that is pointed to stays the caller's. */
struct scan_params {
	int root;	      /* the directory, open */
	unsigned jobs;	      /* threads that look at entries; at least 1 */
	uint64_t patience_ns; /* see above */
	bool follow;	      /* a symbolic link becomes what it leads to */
	/* NULL: everything is wanted. What is not wanted is not looked at, if the filesystem tells
	 * which names are directories. A directory that holds only what is not wanted does not
	 * become an entry. */
	const struct filter *filter;
	/* Called in the caller's thread. bad(): a name that is left out, or a directory that stays
	 * empty. */
	const struct import_watch *watch;
	struct builder *builder; /* has its root alone */
};

struct scan_counts {
	uint64_t entries; /* with the root */
	uint64_t files;	  /* hard links not counted */
	uint64_t bytes;	  /* of the files */
};

/* 0, -ENOMEM, what the watch returned, or what the builder gave (err has its sentence). */
int scan_add(const struct scan_params *params, struct scan_counts *ret, struct err *err);
