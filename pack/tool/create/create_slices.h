/* Several packs of one folder: what is asked for, how the folder is cut, and which run makes which
 * of the packs. */
#ifndef PACK_TOOL_CREATE_CREATE_SLICES_H
#define PACK_TOOL_CREATE_CREATE_SLICES_H

#include "base/buf.h"
#include "pack/tool/import/slices.h"

struct create;

/* The command line. */
struct slice_options {
	uint64_t size;	       /* of a pack, at most; 0: no matter */
	const char *part;      /* "K/N"; NULL: the whole */
	uint32_t first, many;  /* what `part` says; many 0: the whole */
	char text[SHARD_TEXT]; /* pack/shard.h, of one pack; "": the whole */
};

/* What one run knows. */
struct slice_run {
	struct slices *slices; /* NULL: all of SOURCE goes into one pack */
	bool owned;	       /* they end with this run */
	uint32_t number;       /* of the slice that is packed */
	uint64_t later;	       /* bytes of files that come into later packs */
	struct buf scanned;    /* lines for the bad list, of the scan before the first pack */
};

void slice_run_release(struct slice_run *run);

/* EXIT_DONE, or EXIT_USAGE once it is said what makes no sense. */
int create_take_slices(struct create *create);
/* Whether SOURCE is to be cut. */
bool create_is_cut(const struct create *create);

/* Scans SOURCE, and cuts it as the options say. As create_open_folder(), or CREATE_REFUSED. */
int create_cut(struct create *create);
/* The slices to be packed, from the first one to that before the end. */
void create_slices(const struct create *create, uint32_t *ret_first, uint32_t *ret_end);
/* Makes `one`, all zero, what is to be run for a slice, with names of its own for the pack and the
 * list of bad inputs; the first one also gets what was said of the scan. *ret_names is to be freed,
 * after it. 0 or -errno. */
int create_slice(struct create *create, uint32_t slice, struct create *one, char **ret_names);

#endif
