/* foldpack export: writes a pack in another format, so that nobody is bound to packs. The script
 * does it: python/foldfs/tools/export.py. */
#include "pack/tool/read/batch_scan.h"
#include "pack/tool/read/serve.h"

struct settings {
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

static const struct opt options[] = {
	OPT_CHOICE(0, "format", format_names, struct settings, format, "what to write"),
	OPT_STRING(0, "root", "PATH", struct settings, root,
		   "the folder in PACK whose folders are the classes; / is all of it"),
	OPT_FLAG(0, "skip-others", struct settings, skip_others,
		 "leave out what the format cannot hold, and end with status 4"),
	OPT_STRING(0, "order", "path|pack|shuffle:SEED", struct settings, order,
		   "the order of the samples: as ImageFolder lists them, as they lie in PACK, or "
		   "at random"),
	OPT_NUMBER(0, "shards", "N", struct settings, shards,
		   "make N shards of equal numbers of samples"),
	OPT_SIZE(0, "shard-size", "SIZE", struct settings, shard_size,
		 "make shards of at most SIZE (default: 1G)"),
	OPT_CHOICE(0, "keys", key_names, struct settings, keys,
		   "what samples of webdataset are called: their paths (default), or numbers"),
	OPT_FLAG(0, "force", struct settings, force, "replace files that exist"),
	CMD_PROGRESS_OPTIONS(struct settings),
	OPT_NUMBER('j', "jobs", "N", struct settings, jobs,
		   "read with N threads (default: one a processor, at least 8)"),
	CMD_PACK_OPTIONS(struct settings),
	OPT_END,
};

static const struct opt_command command = {
	.name = "foldpack export",
	.synopsis = "[options] --format=FORMAT PACK TARGET",
	.summary =
		"Writes the images in PACK and their labels as folder2lmdb, TF-Slim or WebDataset\n"
		"have them: TARGET, or its shards TARGET-00000-of-00015 or TARGET-000000.tar.\n"
		"Checks all bytes. TARGET.classes.txt gets the names of the classes.",
	.examples =
		"foldpack export --format=webdataset train.lmdb train\n"
		"foldpack export --format=tfrecord --shards=8 train.lmdb train",
	.table = options,
	.elsewhere = CMD_ELSEWHERE,
};

int cmd_export(int argc, char **argv)
{
	struct settings settings = {.format = -1}, defaults = settings;
	const struct cmd_line line = CMD_LINE(&command, &settings, 2, 2);
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
