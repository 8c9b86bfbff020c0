/* foldpack create: what it is asked for, and whether that can be. */
#include "base/libc.h"
#include "base/log.h"
#include "base/reader.h"
#include "base/scope.h"
#include "pack/tool/create/create.h"
#include "pack/tool/work/interrupt.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- before anything is read ------------------------------------------------------------------ */

/* What can be told from the names alone. */
static int check_names(const struct create *create)
{
	struct stat st;
	int r = cmd_check_local(create->report.pack);

	if (r == EXIT_DONE)
		r = cmd_check_local(create->options.bad_list);
	if (r == EXIT_DONE && stat(create->report.pack, &st) == 0 && S_ISDIR(st.st_mode))
		r = log_fail(EXIT_FAILED,
			     "%s: a folder, and PACK is a file; SOURCE comes first, then PACK",
			     create->report.pack);
	return r;
}

/* Refuses options that only a folder has, or only a tar. */
static int check_kind(const struct create *create, bool terminal)
{
	const struct create_options *options = &create->options;
	bool folder = !create->source.dataset;

	if (!folder && options->order.kind != ORDER_PATH)
		return create_usage_error(
			"'--order' is for folders only; everything else keeps its order");
	if (!folder && options->dereference)
		return create_usage_error(
			"'--dereference' is for folders only: nothing else holds what its links "
			"lead to");
	if (!folder && create_is_cut(options))
		return create_usage_error("'--shard-size' and '--part' are for folders only");
	if (!folder && options->since.count &&
	    !reader_hints(dataset_reader(create->source.dataset)).members)
		return create_usage_error("'--since' is for folders only");
	if (!create_source_is_archive(&create->source) && options->strip)
		return create_usage_error("'--strip-components' is for tars and zips only");
	if (options->strip && options->common.foreign.layout == FOREIGN_CLASSES)
		return create_usage_error(
			"'--strip-components': classes are not the folders of the tar");
	if (terminal)
		return create_usage_error(
			"a tar is expected on standard input, which is a terminal");
	return EXIT_DONE;
}

int cmd_create(int argc, char **argv)
{
	SCOPE(create_release)
	struct create create = {.source.root = -1, .options = create_options_default()};
	const struct cmd_line line = CMD_LINE(&create_command, &create.options, 2, -1);
	char **args;
	bool terminal;
	int r = cmd_parse(&line, argc, argv, &args);

	if (r != CMD_RUN)
		return r;
	create.source.count = cmd_count(args) - 1;
	create.source.names = args;
	create_begin(&create, args[create.source.count]);
	create.options.common.makes_packs = true;
	r = create_options_take(&create.options);
	if (r == EXIT_DONE)
		r = check_names(&create);
	terminal = strcmp(args[0], "-") == 0 && isatty(STDIN_FILENO);
	if (r == EXIT_DONE && !terminal)
		r = create_source_find(&create.source);
	if (r == EXIT_DONE && !terminal)
		r = create_check_target(&create);
	if (r == EXIT_DONE && !terminal)
		r = create_source_open(&create.source);
	if (r == EXIT_DONE)
		r = check_kind(&create, terminal);
	if (r == EXIT_DONE)
		r = since_open(&create.options, create.report.pack, &create.since);
	if (interrupt_pending())
		return create_interrupted(&create);
	if (r != EXIT_DONE)
		return r;
	interrupt_catch();
	/* liblmdb allocates the pages of each batch and frees them at its end. If they went back to
	 * the kernel each time, they would be faulted in again, page by page: that was two thirds
	 * of the time for 20,000 photos. Tables that grow are larger than those pages and leave no
	 * holes. What one thread allocates another one frees: with an arena for each thread, the
	 * process would hold as many times the memory. */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, (int)(4 * MIB));
	mallopt(M_TRIM_THRESHOLD, (int)(256 * MIB));
	return exit_finish(create_is_cut(&create.options) ? create_shards(&create)
							  : create_pack(&create));
}
