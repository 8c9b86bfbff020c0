/* foldpack create: the order in which its parts are called. */
#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/cli/cmd.h"
#include "pack/tool/cli/interrupt.h"
#include "pack/tool/create/create_options.h"
#include "pack/tool/create/target.h"
#include "pack/tool/import/import_dir.h"
#include "pack/tool/import/import_tar.h"
#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the parts of a run share, and what the command alone holds. */
struct command {
	struct create create; /* first: what import_watch's functions are given */
	struct create_options options;
	int root; /* the source, open */
	bool tar; /* it is one */
	struct import_watch watch;
};

static void command_release(struct command *command)
{
	struct create *create = &command->create;

	progress_clear(&create->progress);
	import_free(create->import);
	entry_table_release(&create->stored);
	builder_free(create->builder);
	scope_close(&command->root);
	if (create->bad_list)
		fclose(create->bad_list);
}

/* --- what the importer says --------------------------------------------------------------- */

static int on_tick(void *context, uint64_t entries)
{
	struct create *create = context;

	progress_add(&create->progress, entries - create->progress.files, 0);
	return interrupt_pending() ? -EINTR : 0;
}

/* --- the command ---------------------------------------------------------------------- */

static int open_input(struct command *command)
{
	const char *source = command->create.source;
	bool standard = strcmp(source, "-") == 0;
	struct stat st;

	command->root = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
				 : open(source, O_RDONLY | O_CLOEXEC);
	if (command->root < 0 || fstat(command->root, &st) < 0) {
		log_error("%s: %s", source, strerror(errno));
		return EXIT_FAILED;
	}
	command->tar = standard || !S_ISDIR(st.st_mode);
	if (command->tar && command->options.order.kind != ORDER_PATH)
		return create_usage_error("'--order': a tar is stored in the order that it has");
	if (command->tar && command->options.dereference)
		return create_usage_error(
			"'--dereference': a tar does not hold what its links lead to");
	if (!command->tar && command->options.strip)
		return create_usage_error("'--strip-components': only of a tar");
	if (standard && isatty(STDIN_FILENO))
		return create_usage_error(
			"a tar is expected on standard input, which is a terminal");
	if (command->tar && command->options.dry_run)
		return create_usage_error(
			"'--dry-run': a tar must be read as a whole to know what it holds");
	return EXIT_DONE;
}

/* That of an earlier run stays until it is clear that this one runs. */
static int open_bad_list(struct command *command)
{
	const char *path = command->options.bad_list;
	struct err err = {0};
	int r = path ? target_check(path, command->root, &err) : 0;

	if (path && r == 0 && target_is_of(path, command->create.pack))
		r = err_set(&err, -EINVAL, "belongs to the pack; choose another name");
	if (path && r == 0 && command->options.dry_run) {
		r = target_writable(path);
	} else if (path && r == 0) {
		command->create.bad_list = fopen(path, "ae");
		r = command->create.bad_list ? 0 : -errno;
	}
	if (r == 0)
		return 0;
	log_error("%s: %s", path, err_text(&err, r));
	return CREATE_TOLD;
}

static int empty_bad_list(const struct command *command)
{
	FILE *list = command->create.bad_list;
	struct stat st;

	if (!list || fstat(fileno(list), &st) < 0 || !S_ISREG(st.st_mode) ||
	    ftruncate(fileno(list), 0) == 0)
		return 0;
	log_error("%s: %s", command->options.bad_list, strerror(errno));
	return CREATE_TOLD;
}

/* Written to the end, or said. */
static int close_bad_list(struct command *command)
{
	FILE *list = steal_ptr(&command->create.bad_list);
	bool failed = list && ferror(list);

	if (!list || (fclose(list) == 0 && !failed))
		return 0;
	log_error("%s: cannot be written", command->options.bad_list);
	return CREATE_TOLD;
}

/* Scripts go on with whatever there is, which may be nothing but a finished pack. */
static bool is_finished(const struct command *command)
{
	SCOPE(buf_release) struct buf partial = BUF_INIT;
	const char *pack = command->create.pack;

	return command->options.resume && !command->options.force && target_replaceable(pack) &&
	       buf_addf(&partial, "%s.partial", pack) == 0 && access(partial.data, F_OK) < 0;
}

static int open_builder(struct command *command)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	struct create *create = &command->create;
	struct err err = {0};
	int r = create_options_text(&command->options, &text);
	const struct builder_params params = {.path = create->pack,
					      .replace = command->options.force,
					      .resume = command->options.resume,
					      .options = text.data};

	if (r == 0)
		r = target_check(create->pack, command->root, &err);
	if (r == 0)
		r = command->options.dry_run ? builder_check(&params, &err)
					     : builder_new(&params, &create->builder, &err);
	if (r < 0)
		return create_fail(create, r, &err);
	if (command->options.dry_run)
		return 0;
	create_say_kept(create, "resuming after");
	create_advise(create);
	return empty_bad_list(command);
}

static struct import_dir_params folder_params(const struct command *command)
{
	return (struct import_dir_params){.root = command->root,
					  .workers = (unsigned)command->create.ask.jobs,
					  .follow = command->options.dereference,
					  .filter = &command->options.filter,
					  .order = &command->options.order,
					  .watch = &command->watch,
					  .builder = command->create.builder};
}

static int look_at_folder(struct command *command)
{
	const struct import_dir_params params = folder_params(command);
	struct create *create = &command->create;
	int r;

	progress_begin(&create->progress, "looking", create->ask.progress);
	r = create_open_folder(create, &params);
	if (r == 0)
		log_detail("%s: %lu entries, %lu bytes, found in %.2f s", create->source,
			   create->import->entries, create->import->bytes,
			   progress_end(&create->progress));
	return r;
}

static int look_at_tar(struct command *command)
{
	const struct import_tar_params params = {.fd = command->root,
						 .strip = (unsigned)command->options.strip,
						 .filter = &command->options.filter,
						 .watch = &command->watch,
						 .builder = command->create.builder};

	return import_tar_new(&params, &command->create.import);
}

/* Looks at the source: as a whole, where it is a folder. */
static int look_at_source(struct command *command)
{
	return command->tar ? look_at_tar(command) : look_at_folder(command);
}

/* Decoded images are large, and not for all readers. */
static int warn_of_bitmaps(struct command *command)
{
	const struct import_dir_params params = folder_params(command);
	struct create *create = &command->create;
	struct create_sample sample = {.silent = true};
	char bytes[SIZE_TEXT];
	int r = create_take_sample(create, &params, &sample);

	if (r == 0)
		log_notice(
			"%s: about %s, as images are decoded; torchvision.io and TurboJPEG "
			"cannot read them",
			create->pack, size_format(create_sample_bytes(&sample), bytes));
	return r;
}

static int store_all(struct create *create)
{
	int r;

	/* Of images that are changed it is not known, nor of a tar. */
	if (create->import->entries > 0 && !create->ask.transforms)
		create->need = target_estimate(create->import->bytes, create->import->entries);
	r = create_check_space(create);
	if (r < 0)
		return r;
	progress_begin(&create->progress, "packing", create->ask.progress);
	create->progress.files_total = create->import->files;
	create->progress.bytes_total = create->import->bytes;
	create->progress.length = create->import->length;
	r = create_store(create);
	if (r == 0)
		r = create_name_dangling(create);
	return r < 0 ? r : create_name_empty(create);
}

static int dry_run(struct command *command)
{
	const struct import_dir_params params = folder_params(command);
	struct create *create = &command->create;
	struct create_sample sample = {0};
	int r = open_bad_list(command);

	if (r == 0)
		r = open_builder(command);
	create->ask.on_bad = ON_BAD_SKIP;
	if (create->ask.check == CHECK_OFF)
		create->ask.check = CHECK_HEADER;
	if (r == 0)
		r = create_take_sample(create, &params, &sample);
	return r < 0 ? r : create_say_sample(create, &sample, command->options.json);
}

static int pack_source(struct command *command)
{
	struct create *create = &command->create;
	bool bitmaps = transform_decodes(&create->ask.how);
	double began = progress_now();
	int r = open_bad_list(command);

	if (r == 0 && bitmaps && !command->tar)
		r = warn_of_bitmaps(command);
	if (r == 0)
		r = open_builder(command);
	if (r == 0)
		r = look_at_source(command);
	if (r == 0 && create->ask.annotations_refused && !command->tar)
		r = create_find_annotations(create, command->root);
	if (r == 0 && !command->tar)
		r = create_name_links(create, true);
	if (r == 0)
		r = store_all(create);
	if (r == 0 && command->tar)
		r = create_name_links(create, false);
	if (r == 0 && command->tar)
		r = create_name_one_folder(create);
	if (r == 0)
		r = close_bad_list(command);
	if (r == 0)
		r = create_finish(create, command->options.json, began);
	return r;
}

static int run_create(struct command *command)
{
	int r = command->options.dry_run ? dry_run(command) : pack_source(command);

	if (r < 0 && r != CREATE_REFUSED && r != -EINTR)
		create_fail(&command->create, r, NULL);
	return r;
}

/* What is left of a run that ended early. --resume would end again on a source that has changed. */
static bool leave_create(struct command *command)
{
	bool kept = !command->create.stale &&
		    create_say_kept(&command->create, "--resume continues after");

	command_release(command);
	*command = (struct command){.root = -1};
	return kept;
}

static int interrupted(struct command *command)
{
	const char *pack = command->create.pack;
	bool kept = leave_create(command);

	log_error("%s: interrupted%s", pack, kept ? "" : "; nothing was left behind");
	return interrupt_die();
}

/* liblmdb allocates the pages of each batch and frees them at its end. Given back to the kernel
 * each time, they would be faulted in again, page by page: that was two thirds of the time that
 * 20,000 photos took. Tables that grow are larger than those pages, and leave no holes. And what
 * threads allocate another one frees: with an arena for each, as many times the memory would be
 * held. */
static void keep_memory(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, (int)(4 * MIB));
	mallopt(M_TRIM_THRESHOLD, (int)(256 * MIB));
}

static int take_arguments(struct command *command, char **args)
{
	struct create *create = &command->create;
	int r;

	create->source = args[0];
	create->pack = args[1];
	command->watch = (struct import_watch){.bad = create_unreadable,
					       .special = create_special,
					       .left_out = create_left_out,
					       .broken = create_broken,
					       .tick = on_tick,
					       .context = create};
	r = create_options_take(&command->options, create);
	return r == EXIT_DONE ? open_input(command) : r;
}

static int status_of(int error)
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

static int say_finished(struct command *command)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	int status = create_options_text(&command->options, &text) < 0
			     ? EXIT_FAILED
			     : create_say_finished(&command->create, text.data,
						   command->tar ? -1 : command->root,
						   command->options.json);

	if (status == EXIT_DONE && !command->options.dry_run)
		builder_tidy(command->create.pack);
	return status;
}

int cmd_create(int argc, char **argv)
{
	SCOPE(command_release)
	struct command command = {.root = -1, .options = create_options_default()};
	const struct cmd_line line = CMD_LINE(&create_command, &command.options, 2, 2);
	char **args;
	int r = cmd_parse(&line, argc, argv, &args);

	if (r != CMD_RUN)
		return r;
	r = take_arguments(&command, args);
	if (r != EXIT_DONE)
		return r;
	if (is_finished(&command))
		return say_finished(&command);
	interrupt_catch();
	keep_memory();
	r = run_create(&command);
	if (r == 0)
		return exit_finish(command.create.counts.skipped ? EXIT_SKIPPED : EXIT_DONE);
	if (r == -EINTR)
		return interrupted(&command);
	leave_create(&command);
	return status_of(r);
}
