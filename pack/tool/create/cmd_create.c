/* foldpack create: calls its parts in order. */
#include "base/io.h"
#include "base/libc.h"
#include "base/log.h"
#include "base/scope.h"
#include "pack/tool/create/create_annotations.h"
#include "pack/tool/create/create_flaws.h"
#include "pack/tool/create/create_inputs.h"
#include "pack/tool/create/create_since.h"
#include "pack/tool/create/create_source.h"
#include "pack/tool/create/handover.h"
#include "pack/tool/create/target.h"
#include "pack/tool/import/import_packs.h"
#include "pack/tool/work/interrupt.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void create_release(struct create *create)
{
	progress_clear(&create->progress);
	import_free(create->import);
	slice_run_release(&create->slice);
	entry_table_release(&create->stored);
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

/* Refuses options that only a folder has, or only a tar. */
static int check_kind(const struct create *create, bool standard)
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
	if (!folder && options->since.count)
		return create_usage_error("'--since' is for folders only");
	if (!create_is_archive(create) && options->strip)
		return create_usage_error("'--strip-components' is for tars and zips only");
	if (options->strip && options->common.foreign.layout == FOREIGN_CLASSES)
		return create_usage_error(
			"'--strip-components': classes are not the folders of the tar");
	if (standard && isatty(STDIN_FILENO))
		return create_usage_error(
			"a tar is expected on standard input, which is a terminal");
	return EXIT_DONE;
}

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

static int open_input(struct create *create)
{
	bool standard = strcmp(create->source, "-") == 0;
	int r = standard && isatty(STDIN_FILENO) ? check_kind(create, standard)
						 : create_open_source(create);

	if (r == EXIT_DONE)
		r = check_kind(create, standard);
	return r == EXIT_DONE ? create_since_open(create) : r;
}

static bool is_damage(const char *word)
{
	static const char *const words[] = {
		DAMAGE_EMPTY,	    DAMAGE_NO_IMAGE,  DAMAGE_TRUNCATED, DAMAGE_CORRUPT,
		DAMAGE_NO_EOI,	    DAMAGE_NO_SIZE,   DAMAGE_TOO_LARGE, DAMAGE_UNSUPPORTED,
		DAMAGE_NOT_DECODED, DAMAGE_EXTENSION, DAMAGE_CMYK,	DAMAGE_UNREADABLE,
	};
	bool found = false;

	for (size_t i = 0; !found && i < sizeof(words) / sizeof(words[0]); i++)
		found = strcmp(word, words[i]) == 0;
	return found;
}

/* Whether a file is empty, or has a line of an earlier list; any other is somebody's. */
static bool is_bad_list(FILE *list)
{
	char text[64 * KIB + 1] = "", *rest = text, *line, *damage;
	ssize_t len = io_pread(fileno(list), text, sizeof(text) - 1, 0);
	bool found = len == 0;

	while (!found && (line = strsep(&rest, "\n"))) {
		strsep(&line, "\t");
		damage = strsep(&line, "\t");
		found = damage && line && is_damage(damage);
	}
	return found;
}

static int check_bad_list(FILE *list, const char *path, struct err *err)
{
	struct stat st = {0};

	fstat(fileno(list), &st);
	if (S_ISFIFO(st.st_mode) && !io_is_given_pipe(fileno(list), path))
		return err_set(err, -EINVAL,
			       "a named pipe, which may have no reader; a file, or >(COMMAND), can "
			       "be written");
	if (!S_ISREG(st.st_mode) || is_bad_list(list))
		return 0;
	return err_set(
		err, -EEXIST,
		"exists, and is not a list of bad inputs; choose another name, or remove it");
}

/* The list of an earlier run stays until it is clear that this one runs. */
static int open_bad_list(struct create *create)
{
	const char *path = create->options.bad_list;
	struct err err = {0};
	int r = path ? target_check(path, create->root, &err) : 0;

	if (path && r == 0 && target_is_of(path, create->pack))
		r = err_set(&err, -EINVAL, "belongs to the pack; choose another name");
	if (path && r == 0) {
		create->bad_list = fopen(path, "a+e");
		r = create->bad_list ? check_bad_list(create->bad_list, path, &err) : -errno;
	}
	return r == 0 ? 0 : log_fail(CREATE_REPORTED, "%s: %s", path, err_text(&err, r));
}

static int empty_bad_list(const struct create *create)
{
	FILE *list = create->bad_list;
	struct stat st;

	if (!list || fstat(fileno(list), &st) < 0 || !S_ISREG(st.st_mode) ||
	    ftruncate(fileno(list), 0) == 0)
		return 0;
	return log_fail(CREATE_REPORTED, "%s: %s", create->options.bad_list, strerror(errno));
}

/* Closes the list, and prints an error if it was not written completely. It must be on the disk
 * before a pack is that does not say what was left out. A pipe is on none. */
static int close_bad_list(struct create *create)
{
	FILE *list = steal_ptr(&create->bad_list);
	bool written;

	if (!list)
		return 0;
	written = fflush(list) == 0 && !ferror(list) && io_sync(fileno(list), fdatasync) >= 0;
	if (fclose(list) == 0 && written)
		return 0;
	return log_fail(CREATE_REPORTED, "%s: cannot be written", create->options.bad_list);
}

/* Whether there is nothing to resume but a finished pack. Scripts resume whatever there is. */
static bool is_finished(const struct create *create)
{
	SCOPE(buf_release) struct buf partial = BUF_INIT;
	const char *pack = create->pack;

	return create->options.resume && !create->options.force && target_replaceable(pack) &&
	       buf_addf(&partial, "%s.partial", pack) == 0 && access(partial.data, F_OK) < 0;
}

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
	create_say_kept(create, "resuming after");
	r = empty_bad_list(create);
	if (r == 0)
		create_list_held(create, &create->slice.scanned);
	return r;
}

static void begin_progress(struct create *create, const char *verb)
{
	const struct create_options *options = &create->options;

	progress_begin(&create->progress, verb, cmd_progress(&options->common));
}

/* Looks at all of a folder. */
static int look_at_folder(struct create *create)
{
	const struct import_dir_params params = create_folder_params(create);
	int r;

	begin_progress(create, "looking");
	r = create_open_folder(create, &params);
	if (r < 0)
		return r;
	progress_clear(&create->progress);
	log_detail("%s: %lu entries, %lu bytes, found in %.2f s", create->source,
		   create->import->entries, create->import->bytes,
		   progress_now() - create->progress.began);
	if (!create->slice.slices)
		r = create_look_ahead(create, create->builder, create->import->entries);
	return r < 0 ? r : create_name_links(create);
}

static int look_at_dataset(struct create *create)
{
	const struct import_packs_params params = {.dataset = create->dataset,
						   .filter = &create->options.filter,
						   .watch = &create->watch,
						   .builder = create->builder};
	struct err err = {0};
	int r;

	create->counts.skipped += dataset_left_out(create->dataset);
	r = create_tell_flaws(create);
	if (r < 0)
		return r;
	begin_progress(create, "looking");
	r = import_packs_new(&params, &create->import, &err);
	progress_clear(&create->progress);
	if (r < 0 && err.text[0])
		return create_fail(create, r, &err);
	return r < 0 ? r : create_list_images(create, create->builder, create->import->entries);
}

static int store_all(struct create *create)
{
	int r;

	/* This is not known for a tar, nor if images are changed, nor what the base has. */
	if (create->import->entries > 0 && !create->transforms && !create->since)
		create->need = target_estimate(create->import->bytes + create->slice.later,
					       create->import->entries);
	r = create_check_space(create);
	if (r < 0)
		return r;
	begin_progress(create, "packing");
	create->progress.files_total = create->import->files;
	create->progress.bytes_total = create->import->bytes;
	r = create_store(create);
	if (r == 0)
		r = create_tell_broken(create);
	return r < 0 ? r : create_name_rest(create);
}

static int pack_source(struct create *create)
{
	int r = open_bad_list(create);

	create->began = progress_now();
	if (r == 0 && transform_decodes(&create->how) && !create->slice.slices)
		create_warn_of_bitmaps(create);
	if (r == 0)
		r = open_builder(create);
	if (r == 0)
		r = create->dataset ? look_at_dataset(create) : look_at_folder(create);
	if (r == 0)
		r = store_all(create);
	if (r == 0)
		r = close_bad_list(create);
	return r < 0 ? r : create_finish(create);
}

/* Ends a run early, and returns whether --resume can continue it. */
static bool leave_create(struct create *create)
{
	bool kept = !create->vain && create_say_kept(create, "--resume continues after");

	create_release(create);
	*create = (struct create){.root = -1};
	return kept;
}

static int interrupted(struct create *create)
{
	const char *pack = create->pack;
	struct handover *handover = create->slice.handover;
	bool kept = leave_create(create) || handover;

	handover_end(handover);
	log_error("%s: interrupted%s", pack, kept ? "" : "; nothing was left behind");
	return interrupt_die();
}

/* liblmdb allocates the pages of each batch and frees them at its end. If they went back to the
 * kernel each time, they would be faulted in again, page by page: that was two thirds of the time
 * for 20,000 photos. Tables that grow are larger than those pages and leave no holes. What one
 * thread allocates another one frees: with an arena for each thread, the process would hold as many
 * times the memory. */
static void keep_memory(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, (int)(4 * MIB));
	mallopt(M_TRIM_THRESHOLD, (int)(256 * MIB));
}

static int exit_status_of_create(int error)
{
	switch (error) {
	case CREATE_REFUSED:
		return EXIT_USAGE;
	case CREATE_DAMAGED:
		return EXIT_DAMAGED;
	default:
		return (int)exit_status_of(error);
	}
}

static int status_of_done(const struct create *create)
{
	return create->counts.skipped ? EXIT_SKIPPED : EXIT_DONE;
}

static int say_finished(struct create *create)
{
	int status = create_say_finished(create);

	if (status == EXIT_DONE)
		builder_tidy(create->pack);
	return status == EXIT_DONE ? status_of_done(create) : status;
}

/* Makes one pack, of all of SOURCE or of a slice. Returns an exit status. */
static int create_pack(struct create *create)
{
	int r;

	if (is_finished(create))
		return say_finished(create);
	r = pack_source(create);
	if (r == 0)
		return status_of_done(create);
	if (r == -EINTR)
		return interrupted(create);
	create_fail(create, r, NULL);
	leave_create(create);
	return exit_status_of_create(r);
}

static bool is_done(int status)
{
	return status == EXIT_DONE || status == EXIT_SKIPPED;
}

/* Makes the pack of a slice, and hands it over. Returns an exit status. */
static int create_shard(struct create *create, uint32_t slice)
{
	struct handover *handover = create->slice.handover;
	SCOPE_FREE char *names = NULL;
	SCOPE(create_release) struct create one = {.root = -1};
	int status = EXIT_DONE, r = create_slice(create, slice, &one, &names);

	if (r == 0) {
		status = create_pack(&one);
		if (handover && is_done(status))
			r = handover_begin(handover, names);
	}
	if (r == -EINTR)
		return interrupted(create);
	return r < 0 ? exit_status_of_create(create_fail(create, r, NULL)) : status;
}

/* Each pack stands alone: --resume goes on with the one that was interrupted, and leaves those
 * before it as they are. */
static int create_all_shards(struct create *create)
{
	uint32_t slice, end;
	int status = EXIT_DONE, last = EXIT_DONE, r = create_cut(create);

	if (r == 0 && create->options.cut.done)
		r = handover_new(create->options.cut.done, &create->slice.handover);
	for (create_slices(create, &slice, &end); r == 0 && slice < end && is_done(last); slice++) {
		last = create_shard(create, slice);
		if (last != EXIT_DONE)
			status = last;
	}
	if (r == 0)
		r = handover_end(create->slice.handover);
	if (r == -EINTR)
		return interrupted(create);
	if (r == 0)
		r = handover_check(create->slice.handover);
	handover_free(create->slice.handover);
	return r < 0 ? exit_status_of_create(create_fail(create, r, NULL)) : status;
}

int cmd_create(int argc, char **argv)
{
	SCOPE(create_release)
	struct create create = {.root = -1, .options = create_options_default()};
	const struct cmd_line line = CMD_LINE(&create_command, &create.options, 2, -1);
	char **args;
	int r = cmd_parse(&line, argc, argv, &args);

	if (r != CMD_RUN)
		return r;
	while (args[create.source_count + 1])
		create.source_count++;
	create.sources = args;
	create.source = args[0];
	create.pack = args[create.source_count];
	create.watch = create_watch(&create);
	create.options.common.makes_packs = true;
	r = create_options_take(&create);
	if (r == EXIT_DONE)
		r = check_names(&create);
	if (r == EXIT_DONE)
		r = open_input(&create);
	if (interrupt_pending())
		return interrupted(&create);
	if (r != EXIT_DONE)
		return r;
	interrupt_catch();
	keep_memory();
	return exit_finish(create_is_cut(&create) ? create_all_shards(&create)
						  : create_pack(&create));
}
