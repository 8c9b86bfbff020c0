/* foldpack diff, export and report: scripts of python/foldfs/tools/ do their work. */
#include "base/log.h"
#include "base/scope.h"
#include "pack/tool/read/batch_scan.h"
#include "pack/tool/read/serve.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* --- diff: what differs between a folder and a pack, in the words of diff -rq ---------------- */

struct diff_settings {
	struct cmd_common common;
	bool attributes, json;
	uint64_t jobs;
};

static const struct opt diff_options[] = {
	OPT_FLAG('a', "attributes", struct diff_settings, attributes,
		 "compare modes and times of files and folders, too"),
	OPT_FLAG(0, "json", struct diff_settings, json,
		 "write one JSON object with all that was found"),
	CMD_PROGRESS_OPTIONS(struct diff_settings),
	OPT_COUNT('j', "jobs", "N", struct diff_settings, jobs,
		  "read and compare with N threads (default: one per processor, at least 8)"),
	CMD_PACK_OPTIONS(struct diff_settings),
	OPT_END,
};

static const struct opt_command diff_command = {
	.name = "foldpack diff",
	.synopsis = "[options] DIR|OLD PACK",
	.summary =
		"Compares the tree and the bytes of the folder DIR with those in PACK; or tells\n"
		"what has changed since the pack OLD, from their indexes. Exit status 0 if they\n"
		"are the same, 1 if not, 3 if PACK is damaged.",
	.table = diff_options,
	.elsewhere = CMD_ELSEWHERE,
};

int cmd_diff(int argc, char **argv)
{
	struct diff_settings settings = {0}, defaults = {0};
	const struct cmd_line line = CMD_LINE(&diff_command, &settings, 2, 2);
	struct serve serve = {
		.script = "diff", .doing = "comparing", .line = &line, .defaults = &defaults};
	SCOPE_CLOSE int fd = -1;
	struct stat st;
	bool folder;
	int r = cmd_parse(&line, argc, argv, &serve.words);

	if (r != CMD_RUN)
		return r;
	/* DIR is a folder; otherwise it is to be a pack, unless PACK is a folder. */
	fd = open(serve.words[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	folder = fd >= 0;
	if (!folder && errno != ENOTDIR && errno != ENOENT)
		return log_fail(EXIT_FAILED, "%s: %s", serve.words[0], strerror(errno));
	if (!folder && stat(serve.words[1], &st) == 0 && S_ISDIR(st.st_mode))
		return log_fail(EXIT_FAILED,
				"%s: not a folder; the folder comes first, then the pack",
				serve.words[0]);
	/* A delta needs no base: its index has all that is compared. */
	settings.common.delta_ok = !folder;
	defaults.common = settings.common;
	serve.first = folder;
	serve.packs = folder ? 1 : 2;
	serve.jobs = batch_scan_jobs(settings.jobs);
	return serve_run(&serve);
}

/* --- export: a pack in another format, so that nobody is bound to packs ----------------------- */

struct export_settings {
	struct cmd_common common;
	int format;
	const char *root, *order;
	uint64_t shards, shard_size;
	int keys;
	bool force, skip_others;
	uint64_t jobs;
};

static const char *const format_names[] = {"lmdb", "tfrecord", "webdataset", NULL};
static const char *const key_names[] = {"path", "number", NULL};

static const struct opt export_options[] = {
	OPT_CHOICE(0, "format", format_names, struct export_settings, format, "what to write"),
	OPT_STRING(0, "root", "PATH", struct export_settings, root,
		   "the folder in PACK whose folders are the classes; / is all of it"),
	OPT_FLAG(0, "skip-others", struct export_settings, skip_others,
		 "leave out what the format cannot hold, and end with status 4"),
	OPT_STRING(0, "order", "path|pack|shuffle:SEED", struct export_settings, order,
		   "the order of the samples: as ImageFolder lists them, as they lie in PACK, or "
		   "at random"),
	OPT_COUNT(0, "shards", "N", struct export_settings, shards,
		  "make N shards of equal numbers of samples"),
	OPT_ROOM(0, "shard-size", "SIZE", struct export_settings, shard_size,
		 "make shards of at most SIZE (default: 1G)"),
	OPT_CHOICE(0, "keys", key_names, struct export_settings, keys,
		   "what samples of webdataset are called: their paths (default), or numbers"),
	OPT_FLAG(0, "force", struct export_settings, force, "replace files that exist"),
	CMD_PROGRESS_OPTIONS(struct export_settings),
	OPT_COUNT('j', "jobs", "N", struct export_settings, jobs,
		  "read with N threads (default: one per processor, at least 8)"),
	CMD_PACK_OPTIONS(struct export_settings),
	OPT_END,
};

static const struct opt_command export_command = {
	.name = "foldpack export",
	.synopsis = "[options] --format=FORMAT PACK TARGET",
	.summary =
		"Writes the images in PACK and their labels as folder2lmdb, TF-Slim or WebDataset\n"
		"have them: TARGET, or its shards TARGET-00000-of-00015 or TARGET-000000.tar.\n"
		"Checks all bytes. TARGET.classes.txt gets the names of the classes.",
	.examples =
		"foldpack export --format=webdataset train.lmdb train\n"
		"foldpack export --format=tfrecord --shards=8 train.lmdb train",
	.table = export_options,
	.elsewhere = CMD_ELSEWHERE,
};

int cmd_export(int argc, char **argv)
{
	struct export_settings settings = {.format = -1}, defaults = settings;
	const struct cmd_line line = CMD_LINE(&export_command, &settings, 2, 2);
	struct serve serve = {.script = "export",
			      .doing = "exporting",
			      .line = &line,
			      .defaults = &defaults,
			      .packs = 1};
	int r = cmd_parse(&line, argc, argv, &serve.words);

	if (r == CMD_RUN)
		r = cmd_check_local(serve.words[1]);
	else
		return r;
	defaults.common = settings.common;
	serve.jobs = batch_scan_jobs(settings.jobs);
	return r == EXIT_DONE ? serve_run(&serve) : r;
}

/* --- report: one page to look at a dataset --------------------------------------------------- */

#define SAMPLES 6

struct report_settings {
	struct cmd_common common;
	const char *output;
	uint64_t samples;
};

static const struct opt report_options[] = {
	OPT_STRING('o', "output", "FILE", struct report_settings, output,
		   "where to write the page; - is standard output"),
	OPT_NUMBER(0, "samples", "N", struct report_settings, samples,
		   "pictures of each class (default: 6; 0: none)"),
	CMD_PROGRESS_OPTIONS(struct report_settings),
	CMD_PACK_OPTIONS(struct report_settings),
	OPT_END,
};

static const struct opt_command report_command = {
	.name = "foldpack report",
	.synopsis = "[options] PACK -o FILE",
	.summary =
		"Writes one HTML page about the dataset in PACK: what is in it, what is worth a\n"
		"look, charts, and pictures of each class.",
	.examples = "foldpack report train.lmdb -o report.html",
	.table = report_options,
	.elsewhere = CMD_ELSEWHERE,
};

int cmd_report(int argc, char **argv)
{
	struct report_settings settings = {.samples = SAMPLES}, defaults = {0};
	const struct cmd_line line = CMD_LINE(&report_command, &settings, 1, 2);
	struct serve serve = {.script = "report",
			      .doing = "reading",
			      .line = &line,
			      .defaults = &defaults,
			      .packs = 1,
			      .jobs = batch_scan_jobs(0)};
	int r = cmd_parse(&line, argc, argv, &serve.words);

	if (r != CMD_RUN)
		return r;
	if (!settings.output || serve.words[1]) {
		/* One word too many is the page's place, where '-o' is not there. */
		const char *word = serve.words[1];
		struct err err = {0};

		if (!word)
			return cmd_usage_error(&report_command, "where to? '-o FILE' is missing");
		err_set(&err, 0,
			settings.output ? "unexpected argument '%s'"
					: "unexpected argument '%s'; the page's place is '-o FILE'",
			word);
		return cmd_usage_error(&report_command, err.text);
	}
	defaults.common = settings.common;
	r = strcmp(settings.output, "-") ? cmd_check_local(settings.output) : EXIT_DONE;
	return r == EXIT_DONE ? serve_run(&serve) : r;
}
