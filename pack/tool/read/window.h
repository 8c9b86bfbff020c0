/* The files of a pack in the order in which their bytes lie there, cut into windows: neighbours
 * that come with one read, or a piece of one long file.
 *
 *	windows_new -> windows_next ... -> windows_free
 *
 * Files are put in the order of the 64 KiB blocks that they begin in, and within one of these
 * stay in the order of their entries: that is the order of reading, and as near to that of paths
 * as it can be. pack/tool/read/view.h reads a window. Pure: bytes are read by nobody here. */
#ifndef PACK_TOOL_READ_WINDOW_H
#define PACK_TOOL_READ_WINDOW_H

#include "pack/dataset.h"

#define WINDOW_BYTES ((size_t)(4 * MIB)) /* enough for the sequential rate of any device */
#define WINDOW_FILES 256u		 /* so that tiny files are many windows, too */

struct window {
	const uint32_t *files; /* entries; live as long as the windows */
	uint32_t count;	       /* of files, at least 1; exactly 1 where it is a piece */
	bool piece;	/* of a file that is longer than a window; otherwise files are whole */
	bool last;	/* no piece of the file follows; true where it is none */
	uint64_t from;	/* of a piece: its first byte in the file, a multiple of extents */
	uint64_t bytes; /* of the piece, or of all files */
	uint64_t start; /* in the pack */
	size_t len;	/* that it spans there, gaps included; at most WINDOW_BYTES */
};

struct windows;

/* Of `files`, entries that are files or other names of some, ascending: put in order where they
 * are, and borrowed. 0 or -ENOMEM. */
int windows_new(const struct dataset *dataset, uint32_t *files, size_t count, struct windows **ret);
void windows_free(struct windows *windows);

/* Whether there is another window. */
bool windows_next(struct windows *windows, struct window *ret);

/* The numbers of the extents of a window's i-th file that lie in the window. */
struct window_extents {
	uint64_t first, count;
};
struct window_extents window_extents(const struct dataset *dataset, const struct window *window,
				     uint32_t i);

#endif
