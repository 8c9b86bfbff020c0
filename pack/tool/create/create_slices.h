/* Several packs of one folder: what was asked for, how the folder is cut, and which run makes which
 * pack. */
#pragma once

#include "base/buf.h"
#include "pack/tool/import/slices.h"

struct create;

/* The command line. */
struct slice_options {
	uint64_t size;	       /* most of one pack; 0: any */
	const char *done;      /* the command that each pack is handed to; NULL: none */
	const char *part;      /* "K/N"; NULL: the whole */
	uint32_t first, many;  /* parsed `part`; many is 0: the whole */
	char text[SHARD_TEXT]; /* pack/shard.h, of one pack; "": the whole */
};

/* What one run knows. */
struct slice_run {
	struct slices *slices;	   /* NULL: all of SOURCE goes into one pack */
	bool owned;		   /* this run frees them */
	uint32_t number;	   /* of the slice that is packed */
	uint64_t later;		   /* bytes of files that later packs get */
	struct handover *handover; /* of all packs of the run; NULL: they stay */
	struct buf scanned;	   /* lines of the bad list, from the scan before the first pack */
};

void slice_run_release(struct slice_run *run);

/* Returns EXIT_DONE, or EXIT_USAGE after an error was printed. */
int create_take_slices(struct create *create);
/* Whether SOURCE is to be cut. */
bool create_is_cut(const struct create *create);

/* Scans SOURCE, and cuts it as the options say. As create_open_folder(), or CREATE_REFUSED. */
int create_cut(struct create *create);
/* The slices to pack: from *ret_first up to, but without, *ret_end. */
void create_slices(const struct create *create, uint32_t *ret_first, uint32_t *ret_end);
/* Sets up `one`, which is all zero, for a slice, with its own names for the pack and for the list
 * of bad inputs. The first slice also gets the lines of the scan. *ret_names must be freed after
 * `one`. 0 or -errno. */
int create_slice(struct create *create, uint32_t slice, struct create *one, char **ret_names);
