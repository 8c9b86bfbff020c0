/* foldpack export: writes a pack in another format, so that nobody is bound to packs. */
#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/cli/cmd.h"
#include "pack/tool/export/export.h"
#include "pack/tool/export/format.h"
#include "pack/tool/export/outputs.h"
#include "pack/tool/read/batch_scan.h"
#include "pack/tool/read/classes.h"
#include "pack/tool/work/interrupt.h"
#include <inttypes.h>
#include <libgen.h>
#include <string.h>

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
static const struct export_format *const formats[] = {&export_lmdb, &export_tfrecord,
						      &export_webdataset};
static const char *const key_names[] = {"path", "number", NULL};

#define FORMAT_LMDB	  0
#define FORMAT_WEBDATASET 2
#define KEYS_NUMBER	  1
#define SHARD_SIZE	  (1 * GIB)

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

struct export
{
	struct settings settings;
	char *pack, *target;
	enum sample_order order;
	uint64_t seed;
	struct dataset *dataset;
	struct samples samples;
	struct export_source source;
	struct shard_plan plan;
	struct outputs outputs;
	struct progress progress;
};

static void export_release(struct export *export)
{
	outputs_release(&export->outputs);
	shard_plan_release(&export->plan);
	samples_release(&export->samples);
	dataset_free(export->dataset);
}

/* --- the words -------------------------------------------------------------------------- */

static int refuse_options(const char *text)
{
	return cmd_usage_error(&command, text);
}

static int read_order(struct export *export)
{
	static const char shuffle[] = "shuffle:";
	const char *text = export->settings.order, *seed;
	char *end;

	if (!text || strcmp(text, "path") == 0)
		return EXIT_DONE;
	if (strcmp(text, "pack") == 0) {
		export->order = SAMPLES_PACK;
		return EXIT_DONE;
	}
	seed = text + strlen(shuffle);
	if (strncmp(text, shuffle, strlen(shuffle)) != 0 || *seed < '0' || *seed > '9')
		return refuse_options("'--order': not one of path, pack, shuffle:SEED");
	errno = 0;
	export->seed = strtoull(seed, &end, 10);
	export->order = SAMPLES_SHUFFLE;
	return errno || *end ? refuse_options("'--order': the seed is not a number") : EXIT_DONE;
}

static int check_words(struct export *export)
{
	struct settings *settings = &export->settings;
	bool sharded = settings->shards || settings->shard_size;

	if (settings->format < 0)
		return refuse_options(
			"which format? '--format=lmdb|tfrecord|webdataset' is missing");
	if (settings->format == FORMAT_LMDB && sharded)
		return refuse_options("'--shards' and '--shard-size' do not go with --format=lmdb");
	if (settings->shards && settings->shard_size)
		return refuse_options("'--shards' and '--shard-size' exclude each other");
	if (settings->keys == KEYS_NUMBER && settings->format != FORMAT_WEBDATASET)
		return refuse_options("'--keys' goes with --format=webdataset only");
	if (settings->shard_size == 0)
		settings->shard_size = SHARD_SIZE;
	return read_order(export);
}

/* --- what is exported ------------------------------------------------------------------- */

/* A folder that holds train/ and val/ has no classes of its own. */
static int refuse_splits(const struct export *export)
{
	SCOPE(classes_release) struct classes classes = {0};
	int r = classes_new(export->dataset, &classes);

	if (r < 0)
		return cmd_status(export->pack, r, NULL);
	if (!classes.split)
		return EXIT_DONE;
	return log_fail(
		EXIT_FAILED,
		"%s: holds splits, not classes; choose one, by --root=%.*s; where these are the "
		"classes, --root=/",
		export->pack, (int)classes.splits->name_len, classes.splits->name);
}

static int find_samples(struct export *export)
{
	const char *path = export->settings.root;
	uint32_t root = DATASET_ROOT;
	struct err err = {0};
	int r = path ? cmd_find(export->pack, export->dataset, path, &root) : refuse_splits(export);

	if (r != EXIT_DONE)
		return r;
	if (dataset_entry(export->dataset, root).kind != FORMAT_DIRECTORY)
		return log_fail(EXIT_FAILED, "%s: %s: not a folder", export->pack, path);
	r = samples_new(export->dataset, root, formats[export->settings.format]->refuses,
			&export->samples, &err);
	if (r == 0)
		r = samples_sort(&export->samples, export->order, export->seed);
	return cmd_status(export->pack, r, &err);
}

static int name_others(const struct export *export, void (*say)(const char *format, ...))
{
	const struct samples *samples = &export->samples;
	SCOPE(buf_release) struct buf path = BUF_INIT;
	char count[SIZE_TEXT];
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < samples->other_count && i < SAMPLES_NAMED; i++) {
		path.len = 0;
		r = dataset_path(export->dataset, samples->others[i].entry, &path);
		if (r == 0)
			say("%s: %s: %s", export->pack, path.data, samples->others[i].why);
	}
	if (samples->other_count > SAMPLES_NAMED)
		say("%s: and %s more", export->pack,
		    count_format(samples->other_count - SAMPLES_NAMED, count));
	return r;
}

static int check_others(const struct export *export)
{
	bool skip = export->settings.skip_others;

	if (export->samples.other_count == 0)
		return EXIT_DONE;
	if (name_others(export, skip ? log_notice : log_error) < 0)
		return cmd_status(export->pack, -ENOMEM, NULL);
	if (skip)
		return EXIT_DONE;
	return log_fail(EXIT_FAILED, "%s: %s cannot hold these; --skip-others leaves them out",
			export->pack, format_names[export->settings.format]);
}

/* A newline would end a line in the list of classes. */
static int check_classes(const struct export *export)
{
	struct dataset_entry class;

	for (uint32_t i = 0; i < export->samples.class_count; i++) {
		class = dataset_entry(export->dataset, export->samples.classes[i]);
		if (memchr(class.name, '\n', class.name_len))
			return log_fail(EXIT_FAILED,
					"%s: the class of label %" PRId64
					" has a newline in its name",
					export->pack, export->samples.labels[i]);
	}
	if (export->samples.count)
		return EXIT_DONE;
	return log_fail(EXIT_FAILED, "%s: no images in folders of classes; nothing to export",
			export->pack);
}

/* --- strays -------------------------------------------------------------------------------------
 *
 * Shards of an earlier export with another number of shards. Readers of TARGET-* would take them
 * for shards of this one. */

/* The part of `name` after the last name of the target, or NULL. */
static const char *rest_of(const char *name, const char *base)
{
	size_t len = strlen(base);

	return strncmp(name, base, len) == 0 ? name + len : NULL;
}

/* An export that was killed leaves partial files. */
static bool is_stray(const struct export_format *format, const char *rest, uint64_t shards)
{
	const char *end = strstr(rest, OUTPUT_PARTIAL);
	SCOPE_FREE char *name = strndup(rest, end ? (size_t)(end - rest) : strlen(rest));

	return name && format->is_stray(name, shards);
}

static int look_for_strays(DIR *folder, const char *path, const char *base,
			   const struct export_format *format, uint64_t shards, struct err *err)
{
	struct dirent *found;

	while ((found = readdir(folder))) {
		const char *rest = rest_of(found->d_name, base);

		if (rest && is_stray(format, rest, shards))
			return err_set(err, -EEXIST,
				       "%s/%s: a shard of another export; remove those, or "
				       "choose another TARGET",
				       path, found->d_name);
	}
	return 0;
}

/* Whether there is one beside `target`, which will have `shards`. Returns 0; or, with a sentence
 * that begins with a path, -EEXIST (there is one) or why the folder cannot be read; or -ENOMEM. */
static int strays_check(const struct export_format *format, const char *target, uint64_t shards,
			struct err *err)
{
	SCOPE(buf_release) struct buf stem = BUF_INIT;
	SCOPE_FREE char *above = NULL, *last = NULL;
	SCOPE_DIR DIR *folder = NULL;
	const char *path;
	int r = format->stem(&stem, target);

	if (r < 0)
		return r;
	above = strdup(stem.data);
	last = strdup(stem.data);
	if (!above || !last)
		return -ENOMEM;
	path = dirname(above);
	folder = opendir(path);
	if (!folder)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	return look_for_strays(folder, path, basename(last), format, shards, err);
}

/* --- writing ---------------------------------------------------------------------------- */

static int plan_export(struct export *export, const struct export_params *params)
{
	const struct export_format *format = params->format;
	struct err err = {0};
	int r = format->check ? format->check(&export->source, &err) : 0;

	if (r == 0)
		r = export_plan(params, &export->plan, &export->outputs, &err);
	if (r < 0)
		return cmd_status(export->pack, r, &err);
	r = outputs_check(&export->outputs, &err);
	if (r == 0 && format->name)
		r = strays_check(format, export->target, export->plan.count, &err);
	return cmd_status(NULL, r, &err);
}

static int conclude_export(struct export *export, double seconds)
{
	char files[SIZE_TEXT], bytes[SIZE_TEXT], classes[SIZE_TEXT];
	struct err err = {0};
	int r = outputs_finish(&export->outputs, &err);

	if (r < 0 && export->outputs.kept)
		return log_fail(
			EXIT_FAILED,
			"%s; all of it is there, in files whose names end in " OUTPUT_PARTIAL
			", and can be copied",
			err_text(&err, r));
	if (r < 0)
		return log_fail(EXIT_FAILED, "%s; nothing was left behind%s", err_text(&err, r),
				export->settings.force ? ", and what was to be replaced may be gone"
						       : "");
	log_info("%s: %s, %s, %s in %.1f s", export->target,
		 count_noun(export->progress.files, "sample", files),
		 count_noun(export->samples.class_count, "label", classes),
		 size_format(export->progress.bytes, bytes), seconds);
	if (export->samples.unlabelled)
		log_notice("%s: classes without a label in %s have those that follow: %s",
			   export->target, export->pack,
			   count_format(export->samples.unlabelled, classes));
	if (export->samples.other_count)
		log_notice("%s: %s left out", export->target,
			   count_format(export->samples.other_count, files));
	r = export->settings.root ? EXIT_DONE : cmd_copied(export->pack, export->dataset);
	return export->samples.other_count ? EXIT_SKIPPED : r;
}

static void begin_export_progress(struct export *export)
{
	progress_begin(&export->progress, "exporting", cmd_progress(&export->settings.common));
	export->progress.files_total = export->samples.count;
	for (uint64_t i = 0; i < export->samples.count; i++) {
		export->progress.bytes_total +=
			dataset_entry(export->dataset, export->samples.list[i].entry).size;
	}
}

static int write_export(struct export *export, const struct export_params *params)
{
	struct err err = {0};
	double seconds;
	int r;

	begin_export_progress(export);
	r = export_run(params, &export->plan, &export->outputs, &err);
	seconds = progress_end(&export->progress);
	if (r == 0)
		return conclude_export(export, seconds);
	outputs_release(&export->outputs);
	if (r == -EINTR && interrupt_pending()) {
		log_error("%s: interrupted; nothing was left behind", export->target);
		return interrupt_die();
	}
	log_error("%s: %s; nothing was left behind", err.text[0] ? export->pack : export->target,
		  err_text(&err, r));
	return (int)exit_status_of(r);
}

static int run_export(struct export *export)
{
	const struct settings *settings = &export->settings;
	const struct export_params params = {.format = formats[settings->format],
					     .source = &export->source,
					     .target = export->target,
					     .shards = settings->shards,
					     .shard_size = settings->shard_size,
					     .jobs = batch_scan_jobs(settings->jobs),
					     .progress = &export->progress};
	int r;

	export->source = (struct export_source){.dataset = export->dataset,
						.samples = &export->samples,
						.numbered = settings->keys == KEYS_NUMBER};
	export->outputs.replace = settings->force;
	r = plan_export(export, &params);
	if (r != EXIT_DONE)
		return r;
	interrupt_catch();
	return write_export(export, &params);
}

int cmd_export(int argc, char **argv)
{
	SCOPE(export_release) struct export export = {.settings = {.format = -1}};
	const struct cmd_line line = CMD_LINE(&command, &export.settings, 2, 2);
	char **args;
	int r = cmd_parse(&line, argc, argv, &args);

	if (r != CMD_RUN)
		return r;
	export.pack = args[0];
	export.target = args[1];
	r = check_words(&export);
	if (r == EXIT_DONE)
		r = cmd_check_local(export.target);
	if (r == EXIT_DONE)
		r = cmd_open(export.pack, &export.settings.common, &export.dataset);
	if (r == EXIT_DONE)
		r = cmd_load(export.pack, export.dataset,
			     DATASET_CHECKSUMS | formats[export.settings.format]->parts);
	if (r == EXIT_DONE)
		r = find_samples(&export);
	if (r == EXIT_DONE)
		r = check_classes(&export);
	if (r == EXIT_DONE)
		r = check_others(&export);
	return r == EXIT_DONE ? run_export(&export) : r;
}
