/* The options of foldpack create, and what follows from them. */
#pragma once

#include "pack/delta.h"
#include "pack/shard.h"
#include "pack/tool/cli/cmd.h"
#include "pack/tool/image/transform.h"
#include "pack/tool/import/order.h"

enum on_bad { ON_BAD_FAIL, ON_BAD_SKIP, ON_BAD_KEEP };

struct create_options {
	struct cmd_common common;
	bool force, resume, json, dereference, optimize, dedup, since_checksum;
	bool anyway; /* go on although something speaks against it */
	int on_bad;
	int check; /* enum check_level; -1: what is right for a folder of anything */
	uint64_t jobs, strip, resize, max_side, quality;
	int store;	       /* enum transform_store, less one; -1: none */
	struct opt_list touch; /* images whose paths match one of these are changed; none: all */
	const char *order_text, *bad_list, *program; /* of --filter */
	struct create_cut {
		uint64_t size;	       /* most of one pack; 0: any */
		const char *done;      /* the command that each pack is handed to; NULL: none */
		const char *part;      /* "K/N"; NULL: the whole */
		uint32_t first, many;  /* parsed `part`; many is 0: the whole */
		char text[SHARD_TEXT]; /* pack/shard.h, of one pack; "": the whole */
	} cut;
	struct opt_list since;	      /* the base; none: the pack is no delta */
	char base_lines[DELTA_LINES]; /* the options that name the base */
	struct filter filter;
	/* What follows. */
	struct order order;
	struct transform how;
	bool transforms; /* images are changed */
};

/* The options that apply if none is given. */
struct create_options create_options_default(void);
extern const struct opt_command create_command;

/* Checks the options together, and fills in what follows from them. Returns EXIT_DONE, or
 * EXIT_USAGE after an error was printed. */
int create_options_take(struct create_options *options);

/* Prints a usage error. Returns EXIT_USAGE. */
int create_usage_error(const char *text);
/* Sets text to the options that decide what the pack holds, for `info` and for a run that resumes:
 * a line "name=value" each, with \n and \\ for newline and backslash. `dataset` is the source;
 * NULL: a folder. 0 or -ENOMEM. */
int create_options_text(const struct create_options *options, struct dataset *dataset,
			struct buf *text);

/* Whether SOURCE is to be cut. */
bool create_is_cut(const struct create_options *options);
/* Whether only some damage counts, as nothing was asked for. */
bool create_is_lenient(const struct create_options *options);
/* Whether the options that transform images may change this one. */
bool create_may_touch(const struct create_options *options, const char *path);
