/* The tree below a directory as it will be packed: what is there, in which order.
 *
 * Entries come in the order of the keys they will have, the bytes of their paths: siblings
 * sorted as if the names of directories ended in '/', each directory before what is in it.
 * Depends on nothing but the tree, and so does the order of calls to the watch. Symbolic links are
 * noted, and followed only where that is asked for; filesystems mounted below are part of the tree.
 * Reads no file.
 *
 * A file with several names in the tree is SCAN's FORMAT_FILE under the first of them and
 * FORMAT_HARDLINK under the others. */
#ifndef PACK_TOOL_IMPORT_SCAN_H
#define PACK_TOOL_IMPORT_SCAN_H

#include "base/buf.h"
#include "pack/format.h"
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

struct scan;

#define SCAN_ROOT 0u

struct scan_entry {
	uint64_t size;	 /* bytes of a file or of a link's target */
	int64_t mtime;	 /* as date.h */
	uint64_t name;	 /* see scan_name() */
	uint64_t target; /* FORMAT_SYMLINK: see scan_target(); FORMAT_HARDLINK: the entry of
			    the first name */
	uint32_t parent; /* an earlier entry; the root is its own */
	uint16_t mode;	 /* permission bits */
	uint8_t kind;	 /* enum format_kind, but never FORMAT_SPLIT */
	uint8_t name_len;
};

/* How the caller hears of what cannot be packed. Paths are relative to the root, "" being the
 * root itself. */
struct scan_watch {
	/* A name or directory that cannot be read (-errno): it is left out, or stays empty.
	 * Returns 0 to go on, else what scan_new() shall return. */
	int (*unreadable)(void *context, const char *path, int error);
	/* "a named pipe", "a socket", "a device": left out. */
	void (*special)(void *context, const char *path, const char *what);
	/* Now and then, with the entries found so far; non-zero ends the scan with that. */
	int (*tick)(void *context, uint64_t entries);
	/* Whether a name is part of the tree; NULL: all are. What is not wanted is not looked at,
	 * where the filesystem tells directories by their names. A directory that holds only what
	 * is not wanted does not become an entry. */
	bool (*wanted)(void *context, const char *path, bool directory);
	void *context;
};

/* Where the stat of one inode takes longer, it waits for a disk or a server, and asking for many at
 * once is faster. */
#define SCAN_PATIENCE_NS ((uint64_t)50000)

struct scan_params {
	int root;	      /* the directory, open */
	unsigned jobs;	      /* looks at once; at least 1 */
	uint64_t patience_ns; /* see above */
	bool follow;	      /* symbolic links are what they lead to */
};

/* The watch hears of everything in the caller's thread. 0, -ENOMEM, -EOVERFLOW (2^32 entries), or
 * what the watch returned. */
int scan_new(const struct scan_params *params, const struct scan_watch *watch, struct scan **ret);
void scan_free(struct scan *scan);
/* Gives back the memory of the entries before that one: they are not to be asked for again, nor are
 * paths. */
void scan_forget(struct scan *scan, uint32_t before);

uint32_t scan_entries(const struct scan *scan); /* with the root */
uint64_t scan_files(const struct scan *scan);	/* without further hard links */
uint64_t scan_bytes(const struct scan *scan);	/* of the files */

/* entry < scan_entries(). All pointers live as long as the scan. */
const struct scan_entry *scan_entry(const struct scan *scan, uint32_t entry);
/* NUL-ended. */
const char *scan_name(const struct scan *scan, uint32_t entry);
const char *scan_target(const struct scan *scan, uint32_t entry);

/* Appends the path of an entry, NUL-ended (not counted in len). 0 or -ENOMEM. */
int scan_path(const struct scan *scan, uint32_t entry, struct buf *path);

#endif
