/* Goes through the files of a pack, window by window, in many threads: for commands that read
 * much of it. What comes of a window is handed over in the order of windows, so that what a
 * command says does not depend on how many threads there are. */
#ifndef PACK_TOOL_READ_SWEEP_H
#define PACK_TOOL_READ_SWEEP_H

#include "pack/tool/read/view.h"

struct sweep_params {
	struct dataset *dataset;
	uint32_t *files; /* as windows_new() has them */
	size_t count;
	unsigned jobs;	  /* threads; 1: the caller's alone */
	size_t note_size; /* bytes for what comes of one window: a struct of the caller's */
	/* In the caller's thread, in order, before the window is worked on; may be NULL. `note`
	 * is zeroed. -errno ends it all. */
	int (*begin)(void *context, const struct window *window, void *note);
	/* In some thread, `worker` being below jobs. The view is the thread's own, not read. */
	void (*work)(void *context, unsigned worker, const struct window *window, struct view *view,
		     void *note);
	/* In the caller's thread, in order. -errno ends it all: windows that were begun may
	 * have been worked on, or not, and are not heard of again. */
	int (*done)(void *context, const struct window *window, void *note);
	void *context;
};

/* 0, -ENOMEM, -EAGAIN (no thread could be made), or what begin() or done() returned. No thread
 * is left behind. */
int sweep(const struct sweep_params *params);

/* How many threads to take where the user asked for `asked`, 0: for none. Reading is what takes
 * the time where the pack is not in memory, and disks and servers are faster when asked for much
 * at once: more than there are processors. */
unsigned sweep_jobs(uint64_t asked);

#endif
