/* foldpack create: makes a pack, by calling its parts in order.
 *
 *	SOURCE is opened -> looked through: an entry for each name -> files are stored, one after
 *	the other, each on its way through create_store.c -> the pack gets its name */
#include "base/libc.h"
#include "base/log.h"
#include "base/reader.h"
#include "base/scope.h"
#include "pack/tool/create/create_annotations.h"
#include "pack/tool/create/create_messages.h"
#include "pack/tool/create/create_since.h"
#include "pack/tool/create/target.h"
#include "pack/tool/import/import_packs.h"
#include "pack/tool/work/interrupt.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void create_release(struct create *create)
{
	progress_clear(&create->progress);
	import_free(create->import);
	if (create->slice.owned)
		slices_free(create->slice.slices);
	buf_release(&create->slice.scanned);
	number_table_release(&create->stored);
	buf_release(&create->refused);
	buf_release(&create->named_only);
	for (size_t i = 0; i < LEFT_REASONS; i++)
		free(create->left[i].why);
	photo_names_release(&create->own_images);
	builder_free(create->builder);
	labels_release(&create->labels);
	dataset_free(create->dataset);
	create_since_close(create);
	create_flaws_free(create);
	scope_close(&create->root);
	if (create->bad_list)
		fclose(create->bad_list);
}

/* --- before anything is read ------------------------------------------------------------------ */

/* What can be told from the names alone. */
static int check_names(const struct create *create)
{
	struct stat st;
	int r = cmd_check_local(create->pack);

	if (r == EXIT_DONE)
		r = cmd_check_local(create->options.bad_list);
	if (r == EXIT_DONE && stat(create->pack, &st) == 0 && S_ISDIR(st.st_mode))
		r = log_fail(EXIT_FAILED,
			     "%s: a folder, and PACK is a file; SOURCE comes first, then PACK",
			     create->pack);
	return r;
}

/* Refuses options that only a folder has, or only a tar. */
static int check_kind(const struct create *create, bool terminal)
{
	const struct create_options *options = &create->options;
	bool folder = !create->dataset;

	if (!folder && options->order.kind != ORDER_PATH)
		return create_usage_error(
			"'--order' is for folders only; everything else keeps its order");
	if (!folder && options->dereference)
		return create_usage_error(
			"'--dereference' is for folders only: nothing else holds what its links "
			"lead to");
	if (!folder && create_is_cut(create))
		return create_usage_error("'--shard-size' and '--part' are for folders only");
	if (!folder && options->since.count &&
	    !reader_hints(dataset_reader(create->dataset)).members)
		return create_usage_error("'--since' is for folders only");
	if (!create_is_archive(create) && options->strip)
		return create_usage_error("'--strip-components' is for tars and zips only");
	if (options->strip && options->common.foreign.layout == FOREIGN_CLASSES)
		return create_usage_error(
			"'--strip-components': classes are not the folders of the tar");
	if (terminal)
		return create_usage_error(
			"a tar is expected on standard input, which is a terminal");
	return EXIT_DONE;
}

/* --- a pack ----------------------------------------------------------------------------------- */

static int open_builder(struct create *create)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	struct err err = {0};
	int r = create_options_text(create, &text);
	const struct builder_params params = {.path = create->pack,
					      .replace = create->options.force,
					      .resume = create->options.resume,
					      .options = text.data,
					      .base = create_base(create)};

	if (r == 0)
		r = target_check(create->pack, create->root, &err);
	if (r == 0)
		r = builder_new(&params, &create->builder, &err);
	if (r < 0)
		return create_fail(create, r, &err);
	create_log_kept(create, "resuming after");
	r = create_empty_list(create);
	if (r == 0)
		create_list_held(create, &create->slice.scanned);
	return r;
}

struct import_dir_params create_folder_params(const struct create *create)
{
	const struct create_options *options = &create->options;

	return (struct import_dir_params){.scan = {.root = create->root,
						   .jobs = (unsigned)options->jobs,
						   .patience_ns = SCAN_PATIENCE_NS,
						   .follow = options->dereference,
						   .filter = &options->filter,
						   .watch = &create->watch},
					  .builder = create->builder,
					  .order = &options->order,
					  .slices = create->slice.slices,
					  .slice = create->slice.number};
}

int create_import(struct create *create)
{
	const struct import_dir_params folder = create_folder_params(create);
	const struct import_packs_params packs = {.dataset = create->dataset,
						  .filter = &create->options.filter,
						  .watch = &create->watch,
						  .builder = create->builder};
	struct err err = {0};
	int r;

	progress_begin(&create->progress, "looking", cmd_progress(&create->options.common));
	r = create->dataset ? import_packs_new(&packs, &create->import, &err)
			    : import_dir_new(&folder, &create->import, &err);
	progress_clear(&create->progress);
	if (r == 0 || !err.text[0])
		return r;
	return create->dataset ? create_fail(create, r, &err)
			       : log_fail(CREATE_REPORTED, "%s", err.text);
}

/* Looks through all of the source. */
static int look(struct create *create)
{
	bool folder = !create->dataset;
	int r = 0;

	if (!folder) {
		create->counts.skipped += dataset_left_out(create->dataset);
		r = create_tell_flaws(create);
	}
	if (r == 0)
		r = create_import(create);
	if (r < 0)
		return r;
	if (!folder)
		return create_list_images(create, create->builder, create->import->entries);
	log_detail("%s: %lu entries, %lu bytes, found in %.2f s", create->source,
		   create->import->entries, create->import->bytes,
		   progress_now() - create->progress.began);
	if (!create->slice.slices)
		r = create_look_ahead(create, create->builder, create->import->entries);
	return r < 0 ? r : create_name_links(create);
}

static int store_all(struct create *create)
{
	const struct import *import = create->import;
	int r;

	/* This is not known for a tar, nor if images are changed, nor what the base has. */
	if (import->entries > 0 && !create->transforms && !create->since)
		create->need =
			target_estimate(import->bytes + create->slice.later, import->entries);
	r = create_check_space(create);
	if (r < 0)
		return r;
	progress_begin(&create->progress, "packing", cmd_progress(&create->options.common));
	create->progress.files_total = import->files;
	create->progress.bytes_total = import->bytes;
	r = create_store(create);
	if (r == 0)
		r = create_tell_broken(create);
	return r < 0 ? r : create_name_rest(create);
}

static int pack_source(struct create *create)
{
	int r = create_open_list(create);

	create->began = progress_now();
	if (r == 0 && transform_decodes(&create->how) && !create->slice.slices)
		create_warn_of_bitmaps(create);
	if (r == 0)
		r = open_builder(create);
	if (r == 0)
		r = look(create);
	if (r == 0)
		r = store_all(create);
	if (r == 0)
		r = create_close_list(create);
	return r < 0 ? r : create_finish(create);
}

/* --- how it ends ------------------------------------------------------------------------------ */

/* Ends a run early, and returns whether --resume can continue it. */
static bool leave_create(struct create *create)
{
	bool kept = !create->vain && create_log_kept(create, "--resume continues after");

	create_release(create);
	*create = (struct create){.root = -1};
	return kept;
}

int create_interrupted(struct create *create)
{
	const char *pack = create->pack;
	struct handover *handover = create->slice.handover;
	bool kept = leave_create(create) || handover;

	create_await_handover(handover);
	log_error("%s: interrupted%s", pack, kept ? "" : "; nothing was left behind");
	return interrupt_die();
}

int create_failed(struct create *create, int error)
{
	create_fail(create, error, NULL);
	return error == CREATE_REFUSED	 ? EXIT_USAGE
	       : error == CREATE_DAMAGED ? EXIT_DAMAGED
					 : (int)exit_status_of(error);
}

int create_pack(struct create *create)
{
	const struct create_options *options = &create->options;
	SCOPE(buf_release) struct buf partial = BUF_INIT;
	int r;

	/* Where there is nothing to resume but a finished pack. Scripts resume whatever there is.
	 */
	if (options->resume && !options->force && target_replaceable(create->pack) &&
	    buf_addf(&partial, "%s.partial", create->pack) == 0 && access(partial.data, F_OK) < 0) {
		r = create_log_finished(create);
		if (r != EXIT_DONE)
			return r;
		builder_tidy(create->pack);
	} else {
		r = pack_source(create);
		if (r == -EINTR)
			return create_interrupted(create);
		if (r < 0) {
			r = create_failed(create, r);
			leave_create(create);
			return r;
		}
	}
	return create->counts.skipped ? EXIT_SKIPPED : EXIT_DONE;
}

int cmd_create(int argc, char **argv)
{
	SCOPE(create_release)
	struct create create = {.root = -1, .options = create_options_default()};
	const struct cmd_line line = CMD_LINE(&create_command, &create.options, 2, -1);
	char **args;
	bool terminal;
	int r = cmd_parse(&line, argc, argv, &args);

	if (r != CMD_RUN)
		return r;
	create.source_count = cmd_count(args) - 1;
	create.sources = args;
	create.source = args[0];
	create.pack = args[create.source_count];
	create.watch = create_watch(&create);
	create.options.common.makes_packs = true;
	r = create_options_take(&create);
	if (r == EXIT_DONE)
		r = check_names(&create);
	terminal = strcmp(create.source, "-") == 0 && isatty(STDIN_FILENO);
	if (r == EXIT_DONE && !terminal)
		r = create_open_source(&create);
	if (r == EXIT_DONE)
		r = check_kind(&create, terminal);
	if (r == EXIT_DONE)
		r = create_since_open(&create);
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
	return exit_finish(create_is_cut(&create) ? create_shards(&create) : create_pack(&create));
}
