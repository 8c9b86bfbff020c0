#include "pack/tool/create/options.h"

#include "base/size.h"
#include "pack/options.h"
#include "pack/tool/import/slices.h"
#include <string.h>
#include <unistd.h>

static const char *const on_bad_names[] = {"fail", "skip", "keep", NULL};
static const char *const store_names[] = {"jpeg", "bmp", "ppm", NULL};
static const char *const check_names[] = {"off", "header", "decode", NULL};

static const struct opt table[] = {
	OPT_GROUP("what is packed"),
	OPT_LIST(0, "exclude", "GLOB", struct create_options, filter.exclude,
		 "leave out what matches; may be given several times"),
	OPT_LIST(0, "include", "GLOB", struct create_options, filter.include,
		 "pack only files that match; may be given several times"),
	OPT_FLAG(0, "dereference", struct create_options, dereference,
		 "pack what symbolic links lead to, in their place"),
	OPT_NUMBER(0, "strip-components", "N", struct create_options, strip,
		   "take N leading folders off the paths in a tar"),
	OPT_STRING(0, "order", "path|shuffle:SEED|list:FILE", struct create_options, order_text,
		   "the order of the files in PACK"),
	OPT_FLAG(0, "dedup", struct create_options, dedup, "store the bytes of equal files once"),
	OPT_LIST(0, "since", "OLD", struct create_options, since,
		 "pack only what is new since OLD, which may be several packs or a URL: both "
		 "together are the folder as it is now"),
	OPT_FLAG(0, "since-checksum", struct create_options, since_checksum,
		 "compare files with OLD by their bytes, not by size and time"),
	OPT_GROUP("damaged images"),
	OPT_CHOICE(0, "check", check_names, struct create_options, check,
		   "look for images that are damaged: not at all, by what their headers say, or "
		   "by decoding them (default: by headers, and what holds no image is packed)"),
	OPT_CHOICE(0, "on-bad", on_bad_names, struct create_options, on_bad,
		   "what to do about a bad input: end with status 1, leave it out and end with "
		   "status 4, or pack it anyway if it can be read"),
	OPT_STRING(0, "bad-list", "FILE", struct create_options, bad_list,
		   "write the bad inputs to FILE, one per line: path, damage, reason"),
	OPT_GROUP("smaller images"),
	OPT_COUNT(0, "resize", "N", struct create_options, resize,
		  "make the shorter side of larger images N pixels"),
	OPT_COUNT(0, "max-side", "N", struct create_options, max_side,
		  "make the longer side N pixels at most"),
	OPT_COUNT(0, "quality", "Q", struct create_options, quality,
		  "quality of the JPEGs that are made, 1 to 100 (default: 90)"),
	OPT_CHOICE(0, "store", store_names, struct create_options, store,
		   "format of the images: jpeg encodes all again, bmp and ppm decode them"),
	OPT_FLAG(0, "optimize", struct create_options, optimize,
		 "make JPEGs smaller and baseline, without loss"),
	OPT_STRING(0, "filter", "COMMAND", struct create_options, program,
		   "first replace each image by what COMMAND makes of it"),
	OPT_LIST(0, "transform", "GLOB", struct create_options, touch,
		 "which images these options may change; may be given several times"),
	OPT_GROUP("the pack"),
	OPT_FLAG(0, "force", struct create_options, force,
		 "replace PACK if it exists, or what an interrupted run left of it"),
	OPT_FLAG(0, "resume", struct create_options, resume,
		 "continue where an interrupted run ended; if there was none, begin"),
	OPT_FLAG(0, "anyway", struct create_options, anyway,
		 "pack although there is too little room, or boxes no longer fit resized images"),
	OPT_ROOM(0, "shard-size", "SIZE", struct create_options, cut.size,
		 "make packs PACK-00000-of-00015 and so on, of at most SIZE"),
	OPT_STRING(0, "shard-done", "COMMAND", struct create_options, cut.done,
		   "run COMMAND for each of these once it is finished, with its path for {}, while "
		   "the next is packed"),
	OPT_STRING(
		0, "part", "K/N", struct create_options, cut.part,
		"pack only the K-th of N parts, counted from 0, into PACK-K-of-N: a part on each "
		"of N machines is the whole"),
	OPT_GROUP("messages and speed"),
	OPT_FLAG(0, "json", struct create_options, json,
		 "write the summary to standard output, as JSON"),
	CMD_PROGRESS_OPTIONS(struct create_options),
	OPT_COUNT('j', "jobs", "N", struct create_options, jobs,
		  "read and check N files at once (default: one per processor, at least 16)"),
	CMD_PACK_OPTIONS(struct create_options),
	OPT_END,
};

const struct opt_command create_command = {
	.name = "foldpack create",
	.synopsis = "[options] SOURCE.. PACK",
	.summary =
		"Packs SOURCE, a folder or a file of a format in foldpack-formats(7), into the\n"
		"file PACK. SOURCE - is a tar on standard input. Several packs, among them what\n"
		"changed since, become one.",
	.examples =
		"foldpack create train/ train.lmdb\n"
		"foldpack create --resize=256 train.tar train.lmdb\n"
		"foldpack create --since=train.lmdb train/ changed.lmdb",
	.table = table,
	.elsewhere = CMD_ELSEWHERE,
};

#define JOBS_LEAST 16 /* reads at the same time, for network storage and hard disks */
#define JOBS_MOST  256

struct create_options create_options_default(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	return (struct create_options){.jobs = processors > JOBS_LEAST ? (uint64_t)processors
								       : JOBS_LEAST,
				       .order_text = "path",
				       .check = -1,
				       .store = -1};
}

/* --- beyond the table ------------------------------------------------------------------- */

int create_usage_error(const char *text)
{
	return cmd_usage_error(&create_command, text);
}

bool create_is_cut(const struct create_options *options)
{
	return options->cut.size || options->cut.part;
}

bool create_is_lenient(const struct create_options *options)
{
	return options->check < 0;
}

bool create_may_touch(const struct create_options *options, const char *path)
{
	uint64_t used = UINT64_MAX;

	return options->touch.count == 0 || filter_matches(&options->touch, path, &used);
}

/* Parses a number of digits only, at most SLICES_MOST. */
static bool parse_count(const char **text, uint32_t *ret)
{
	const char *start = *text;
	uint64_t value = 0;

	for (; **text >= '0' && **text <= '9' && value <= SLICES_MOST; ++*text)
		value = value * 10 + (uint64_t)(**text - '0');
	*ret = (uint32_t)value;
	return *text > start && value <= SLICES_MOST;
}

/* Whether {} is between single quotes with other text, where the shell leaves "$1" as it is. */
static bool is_quoted(const char *command)
{
	bool single = false, twice = false;

	for (const char *at = command; *at; at++) {
		if (*at == '\\' && !single && at[1])
			at++;
		else if (*at == '"' && !single)
			twice = !twice;
		else if (*at == '\'' && !twice)
			single = !single;
		else if (single && strncmp(at, "{}", 2) == 0 && (at[-1] != '\'' || at[2] != '\''))
			return true;
	}
	return false;
}

static int take_cut(struct create_options *options)
{
	struct create_cut *cut = &options->cut;
	const char *text = cut->part;

	if (cut->size && cut->size < MIB)
		return create_usage_error("'--shard-size': at least 1M");
	if (cut->size && text)
		return create_usage_error("'--part' and '--shard-size' do not go together");
	if (cut->done && !cut->size)
		return create_usage_error("'--shard-done' goes with '--shard-size' only");
	if (cut->done && !strstr(cut->done, "{}"))
		return create_usage_error("'--shard-done': no {}, where the path of a pack goes");
	if (cut->done && is_quoted(cut->done))
		return create_usage_error(
			"'--shard-done': {} is within quotes, where it is no path: "
			"sh -c '... \"$1\" ...' sh {}");
	if (!text)
		return EXIT_DONE;
	if (!parse_count(&text, &cut->first) || *text++ != '/' || !parse_count(&text, &cut->many) ||
	    *text || cut->first >= cut->many)
		return create_usage_error("'--part': K/N, with K from 0 to N - 1");
	return EXIT_DONE;
}

#define SIDE_MOST 65500 /* the most that a JPEG can hold */

int create_options_take(struct create_options *options)
{
	struct err err = {0};

	if (options->jobs < 1 || options->jobs > JOBS_MOST)
		return create_usage_error("'--jobs': not between 1 and 256");
	if (order_parse(options->order_text, &options->order, &err) < 0)
		return create_usage_error(err.text);
	if (take_cut(options) != EXIT_DONE)
		return EXIT_USAGE;
	if (options->resize > SIDE_MOST || options->max_side > SIDE_MOST)
		return create_usage_error("no JPEG has a side of over 65500 pixels");
	options->how = (struct transform){
		.resize = (uint32_t)options->resize,
		.max_side = (uint32_t)options->max_side,
		.quality = (uint32_t)(options->quality > 100 ? 101 : options->quality),
		.store = (enum transform_store)(options->store + 1),
		.optimize = options->optimize,
	};
	if (transform_check(&options->how, &err) < 0)
		return create_usage_error(err.text);
	options->transforms = options->resize || options->max_side || options->store >= 0 ||
			      options->optimize || options->program;
	if (options->touch.count && !options->transforms)
		return create_usage_error(
			"'--transform': nothing is asked for that it could touch");
	if (options->since_checksum && !options->since.count)
		return create_usage_error("'--since-checksum' without '--since'");
	if (options->since.count && options->transforms)
		return create_usage_error(
			"'--since' compares files with those of the folder, and these options "
			"change them: pack the folder again");
	if (options->since.count && create_is_cut(options))
		return create_usage_error(
			"'--since' makes one pack: leave out '--shard-size' and '--part'");
	return EXIT_DONE;
}

/* --- what is kept ------------------------------------------------------------------------- */

/* No value can contain a line break that would start another option. NULL: it was not given. */
static void add_option(struct buf *text, const char *name, const char *value)
{
	if (!value)
		return;
	buf_addf(text, "%s=", name);
	buf_add_escaped(text, value, strlen(value), "\n\\");
	buf_adds(text, "\n");
}

static void add_flag(struct buf *text, const char *name, bool given)
{
	add_option(text, name, given ? "yes" : NULL);
}

static void add_texts(struct buf *text, const char *name, const struct opt_list *values)
{
	for (size_t i = 0; i < values->count; i++)
		add_option(text, name, values->items[i]);
}

static void add_option_number(struct buf *text, const char *name, uint64_t value)
{
	if (value)
		buf_addf(text, "%s=%lu\n", name, value);
}

/* What a copy of a pack knows of how its files became what they are, but for what is said anew. */
static void add_inherited(struct buf *text, struct dataset *dataset)
{
	const struct dataset_info *info = dataset ? dataset_info(dataset) : NULL;
	const char *at = info ? info->options : NULL, *end = info ? at + info->options_len : NULL;
	struct option_line line;

	while (options_next(&at, end, &line))
		if (option_is_of_content(&line) && !options_have(text->data, text->len, &line))
			buf_addf(text, "%.*s\n", (int)line.len, line.text);
}

int create_options_text(const struct create_options *options, struct dataset *dataset,
			struct buf *text)
{
	const struct foreign_settings *foreign = &options->common.foreign;
	int layout = foreign->layout, folders = foreign->class_folders;

	buf_adds(text, "");
	add_texts(text, "include", &options->filter.include);
	add_texts(text, "exclude", &options->filter.exclude);
	if (options->order.kind != ORDER_PATH)
		add_option(text, "order",
			   options->order.kind == ORDER_LIST ? "list" : options->order_text);
	add_option(text, "shard", *options->cut.text ? options->cut.text : NULL);
	buf_adds(text, options->base_lines);
	add_flag(text, "dereference", options->dereference);
	add_option(text, "layout", layout == FOREIGN_AUTO ? NULL : foreign_layout_names[layout]);
	add_flag(text, "empty-classes", dataset && foreign->empty_classes);
	/* What decides which records of a file of another format become which files. A list of
	 * names shows in their paths. */
	if (dataset && dataset_is_unchecked(dataset)) {
		add_option(text, "schema", foreign->schema);
		add_option(text, "class-folders",
			   folders == FOREIGN_FOLDERS_AUTO ? NULL : foreign_folders_names[folders]);
		add_option(text, "image-key", foreign->image_key);
		add_option(text, "label-key", foreign->label_key);
		add_option(text, "name-key", foreign->name_key);
	}
	add_option_number(text, "strip-components", options->strip);
	add_flag(text, "dedup", options->dedup);
	add_option(text, "check", options->check < 0 ? NULL : check_names[options->check]);
	add_option_number(text, "resize", options->resize);
	add_option_number(text, "max-side", options->max_side);
	add_option_number(text, "quality", options->quality);
	add_option(text, "store", options->store < 0 ? NULL : store_names[options->store]);
	add_flag(text, "optimize", options->optimize);
	add_option(text, "filter", options->program);
	add_texts(text, "transform", &options->touch);
	add_inherited(text, dataset);
	return buf_error(text);
}
