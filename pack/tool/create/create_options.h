/* foldpack create: its command line, what of it the parts of a run need, and what of it is kept in
 * the pack. */
#ifndef PACK_TOOL_CREATE_CREATE_OPTIONS_H
#define PACK_TOOL_CREATE_CREATE_OPTIONS_H

#include "pack/tool/cli/cmd.h"
#include "pack/tool/create/create.h"

struct create_options {
	struct cmd_common common;
	struct create_ask ask;
	bool dereference;
	uint64_t strip;
	bool force, resume, dry_run, json, progress;
	int store; /* enum transform_store, less one; -1: none */
	bool optimize;
	uint64_t resize, max_side, quality;
	const char *order_text, *bad_list;
	struct filter filter;
	struct order order;
};

/* Those that apply where nothing is given. */
struct create_options create_options_default(void);

extern const struct opt_command create_command;

/* Looks at what was given as a whole, and fills what of `create` follows from it; `options` stays
 * the caller's, and outlives it. EXIT_DONE, or EXIT_USAGE once it is said what makes no sense. */
int create_options_take(struct create_options *options, struct create *create);

/* Says it. Returns EXIT_USAGE. */
int create_usage_error(const char *text);

/* Sets text to the options that decide what the pack holds, for `info` and for a run that resumes:
 * a line each, "name=value". In a value newline and backslash are written \n and \\. 0 or -ENOMEM.
 */
int create_options_text(const struct create_options *options, struct buf *text);

#endif
