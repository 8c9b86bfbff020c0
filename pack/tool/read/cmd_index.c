/* foldpack index: the index of a file of another format, for whoever mounts it from afar. */
#include "base/log.h"
#include "base/name.h"
#include "base/scope.h"
#include "pack/tool/cli/cmd.h"
#include "pack/tool/work/interrupt.h"
#include "pack/tool/work/progress.h"
#include "remote/open.h"
#include <string.h>
#include <sys/stat.h>

struct settings {
	struct cmd_common common;
	const char *output;
};

static const struct opt options[] = {
	OPT_STRING('o', "output", "FILE", struct settings, output,
		   "write it as FILE, or into a folder (default: next to the file)"),
	CMD_PROGRESS_OPTIONS(struct settings),
	CMD_PACK_OPTIONS(struct settings),
	OPT_END,
};

static const struct opt_command command = {
	.name = "foldpack index",
	.synopsis = "[options] FILE..",
	.summary =
		"Makes the index of each FILE, a tar, TFRecord, parquet or their like, with\n"
		"checksums: FILE.foldfs-index. Where that lies next to the file on a server,\n"
		"foldfs mounts the file at once.",
	.examples =
		"foldpack index 'train-{000000..000146}.tar'\n"
		"foldpack index -o /tmp/ https://example.org/train.tar",
	.table = options,
	.elsewhere = CMD_ELSEWHERE,
};

struct indexing {
	struct settings *settings;
	struct progress progress;
};

/* --- while it is read ------------------------------------------------------------------------- */

static int begin_sums(void *context, uint64_t bytes)
{
	struct indexing *indexing = context;

	interrupt_catch();
	progress_again(&indexing->progress, "reading", bytes);
	return 0;
}

static void add_sums(void *context, uint64_t bytes)
{
	struct indexing *indexing = context;

	progress_add(&indexing->progress, 0, bytes);
}

/* --- where it goes ---------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The file that is read: of a folder that is an LMDB, the one in it. */
static int find_file(const char *name, char **ret, struct err *err)
{
	SCOPE_FREE char *absolute = NULL, *inner = NULL;
	int r = name_absolute(name, &absolute, err);

	if (r < 0)
		return r;
	if (asprintf(&inner, "%s/data.mdb", absolute) < 0)
		return -ENOMEM;
	*ret = steal_ptr(access(inner, F_OK) == 0 ? &inner : &absolute);
	return 0;
}

static int find_output(const struct settings *settings, const char *file, char **ret,
		       struct err *err)
{
	const char *output = settings->output, *slash;
	SCOPE_FREE char *shown = name_shown(file);

	if (!shown)
		return -ENOMEM;
	if (!output && name_is_url(file))
		return err_set(err, -EINVAL,
			       "a URL: give a local '--output', and upload the index next to the "
			       "file");
	slash = strrchr(shown, '/');
	if (output && !is_folder(output))
		*ret = strdup(output);
	else if (asprintf(ret, "%s%s%s" NAME_INDEX, output ? output : "",
			  !output || output[strlen(output) - 1] == '/' ? "" : "/",
			  output ? slash + 1 : shown) < 0)
		*ret = NULL;
	return *ret ? 0 : -ENOMEM;
}

/* --- the command ------------------------------------------------------------------------------ */

static int index_file(struct indexing *indexing, const char *name, bool apart, struct err *err)
{
	const struct foreign_checking checking = {
		.begin = begin_sums, .add = add_sums, .stops = interrupt_came, .context = indexing};
	struct foreign_settings foreign = indexing->settings->common.foreign;
	SCOPE_FREE char *file = NULL, *output = NULL;
	int r = find_file(name, &file, err);

	foreign.checking = &checking;
	foreign.how = apart ? READER_APART : 0;
	if (r == 0)
		r = find_output(indexing->settings, file, &output, err);
	interrupt_let(); /* until there is something to say */
	if (r == 0)
		r = foreign_publish(file, &foreign, output, err);
	interrupt_catch();
	progress_clear(&indexing->progress);
	if (r == 0)
		log_notice("%s: written", output);
	return r;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* No two files become one. */
static int check_outputs(const struct settings *settings, const struct names *names,
			 struct err *err)
{
	char **outputs = calloc(names->count + 1, sizeof(*outputs));
	int r = outputs ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < names->count; i++) {
		SCOPE_FREE char *file = NULL;

		r = find_file(names->all[i].name, &file, err);
		if (r == 0)
			r = find_output(settings, file, &outputs[i], err);
	}
	if (r == 0)
		qsort(outputs, names->count, sizeof(*outputs), compare_texts);
	for (size_t i = 1; r == 0 && i < names->count; i++)
		if (strcmp(outputs[i - 1], outputs[i]) == 0)
			r = err_set(err, -EEXIST, "%s would be that of two files", outputs[i]);
	for (size_t i = 0; outputs && i < names->count; i++)
		free(outputs[i]);
	free(outputs);
	return r;
}

static int index_files(struct settings *settings, const struct names *names)
{
	struct indexing indexing = {.settings = settings};
	struct err reason = {0};
	int r = settings->output ? check_outputs(settings, names, &reason) : 0;

	if (r < 0) {
		log_error("%s", err_text(&reason, r));
		return (int)exit_status_of(r);
	}
	progress_begin(&indexing.progress, "reading", cmd_progress(&settings->common));
	for (size_t i = 0; r == 0 && i < names->count; i++) {
		char *name = names->all[i].name;
		struct err err = {0};

		r = index_file(&indexing, name, names->all[i].apart, &err);
		name_hide_secrets(name);
		if (r == -EINTR)
			log_error("%s: interrupted; the same command continues", name);
		else if (r < 0)
			log_error("%s: %s", name, err_text(&err, r));
	}
	progress_end(&indexing.progress);
	return r == -EINTR ? interrupt_die() : (int)exit_status_of(r);
}

int cmd_index(int argc, char **argv)
{
	SCOPE(names_release) struct names names = {0};
	struct settings settings = {0};
	const struct cmd_line line = CMD_LINE(&command, &settings, 1, -1);
	char **args;
	int r = cmd_parse(&line, argc, argv, &args);

	if (r != CMD_RUN)
		return r;
	r = cmd_check_local(settings.output);
	if (r == EXIT_DONE)
		r = cmd_names(args, cmd_count(args), &settings.common, &names);
	if (r == EXIT_DONE && names.count > 1 && settings.output && !is_folder(settings.output))
		return cmd_usage_error(&command, "'--output' names a folder for several files");
	return r == EXIT_DONE ? index_files(&settings, &names) : r;
}
