/* foldstat's live view: the page that shows a mount, as a function of its history. Pure. */
#pragma once

#include "fs/stat/history.h"
#include "fs/stat/page.h"

#define VIEW_SILENT_S 3 /* a mount that takes longer to say its stats does not answer */

struct view_mount {
	const char *path;
	struct history history;
	double asked_at;    /* since then an answer is awaited; 0: none is */
	struct err trouble; /* why the mount gives no stats; text is "" if it does */
};

struct view {
	const struct view_mount *const *mounts;
	size_t count;	    /* over 0 */
	size_t shown;	    /* index of the mount that is shown */
	double now;	    /* on the clock of the snapshots */
	const char *notice; /* what has just happened, or "" */
	bool paused, help;
};

/* Whether a mount takes too long to say its stats. */
bool view_is_silent(const struct view *view, const struct view_mount *mount);

/* The index of the mount of which most files are read now; the one that is shown before others. */
size_t view_busiest(const struct view *view);

/* Draws on a blank page. The rows at the bottom are cut if there is too little room. Returns 0 or
 * -ENOMEM. */
int view_draw(const struct view *view, struct page *page);
