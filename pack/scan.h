/* Lists the tree below a directory: what is there, in which order.
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

#include "pack/filter.h"
#include "pack/pack_entry.h"

/* A stat that takes longer waits for a disk or a server: then many at the same time are faster. */
#define SCAN_PATIENCE_NS ((uint64_t)50000)

/* Takes the entries, and numbers them from 1 on, one after the other. */
struct scan_into {
	void (*root)(void *context, mode_t mode, struct timespec mtime);
	int (*add)(void *context, const struct pack_entry *entry, uint32_t *ret_id,
		   struct err *err);
	void *context;
};

/* Tells the owner what cannot be part of a tree. Paths are relative to the source; "" is the source
 * itself.
 */
struct scan_watch {
	/* An input that cannot be read, and is left out. Returns 0 to go on, else what the scan is
	 * to return. */
	int (*bad)(void *context, const char *path, const char *reason);
	/* "a named pipe", "a socket", "a device": left out. */
	void (*special)(void *context, const char *path, const char *what);
	/* Called from time to time during a scan, with the number of entries so far; as bad(). */
	int (*tick)(void *context, uint64_t entries);
	void *context;
};

/* All that is pointed to stays the caller's. */
struct scan_params {
	int root;	      /* the directory, open */
	unsigned jobs;	      /* threads that look at entries; at least 1 */
	uint64_t patience_ns; /* see above */
	bool follow;	      /* a symbolic link becomes what it leads to */
	/* NULL: everything is wanted. What is not wanted is not looked at, if the filesystem tells
	 * which names are directories. A directory that holds only what is not wanted does not
	 * become an entry. */
	struct filter *filter;
	/* Called in the caller's thread. bad(): a name that is left out, or a directory that stays
	 * empty. */
	const struct scan_watch *watch;
	struct scan_into into;
};

struct scan_counts {
	uint64_t entries; /* with the root */
	uint64_t files;	  /* hard links not counted */
	uint64_t bytes;	  /* of the files */
};

/* 0, -ENOMEM, what the watch returned, or what `into` gave (err has its sentence). */
int scan_add(const struct scan_params *params, struct scan_counts *ret, struct err *err);
