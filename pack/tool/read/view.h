/* The bytes of one window at a time; one view for each thread.
 *
 * What is not in the kernel's memory is read past it, by one request a window: reading all of a
 * pack displaces nothing there that a training job needs, and threads side by side do not look
 * like disorder to the kernel's readahead. What it has, or where this cannot be (a filesystem
 * without direct I/O), is read like any file. */
#ifndef PACK_TOOL_READ_VIEW_H
#define PACK_TOOL_READ_VIEW_H

#include "pack/tool/read/window.h"

struct view {
	struct dataset *dataset;
	char *memory;	/* room for a window and the pages that it ends in */
	char *data;	/* of the window in hand, in memory */
	uint64_t start; /* of it, in the pack */
	int direct;	/* a descriptor for reading past the kernel's memory; -1: none */
	int error;	/* -errno of reading the window: then each extent is read by itself */
};

/* 0 or -ENOMEM. */
int view_init(struct view *view, struct dataset *dataset);
void view_release(struct view *view); /* {0} is fine */

/* Reads a window; whether that succeeds, its extents say. */
void view_read(struct view *view, const struct window *window);

/* An extent of the window, and its bytes, which live until the next read. 0 or -errno. */
int view_extent(struct view *view, uint64_t number, struct dataset_extent *ret, char **ret_data);

#endif
