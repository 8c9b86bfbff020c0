/* foldpack info: what is in a pack, from its index alone. */
#include "base/scope.h"
#include "base/size.h"
#include "pack/image_kind.h"
#include "pack/options.h"
#include "pack/tool/cli/cmd.h"
#include "pack/tool/read/summary.h"
#include <string.h>

struct settings {
	struct cmd_common common;
	bool json;
};

static const struct opt options[] = {
	OPT_FLAG(0, "json", struct settings, json, "one JSON object"),
	CMD_PACK_OPTIONS(struct settings),
	OPT_END,
};

static const struct opt_command command = {
	.name = "foldpack info",
	.synopsis = "[options] PACK",
	.summary =
		"Prints a summary of PACK: size, classes, images, and how it is stored.\n"
		"With -v also the files and bytes of each class.",
	.table = options,
	.elsewhere = CMD_ELSEWHERE,
};

static void print_count(const char *label, uint64_t count)
{
	char text[SIZE_TEXT];

	printf("%-14s %s\n", label, count_format(count, text));
}

static void print_size(const char *label, uint64_t bytes, const char *more)
{
	char text[SIZE_TEXT], exact[SIZE_TEXT];

	printf("%-14s %s (%s bytes%s)\n", label, size_format(bytes, text),
	       count_format(bytes, exact), more);
}

static void print_aliases(const struct summary *summary)
{
	char count[SIZE_TEXT], bytes[SIZE_TEXT];

	if (summary->aliases)
		printf("%-14s %s, %s, with bytes that are stored for others\n", "deduplicated",
		       count_noun(summary->aliases, "file", count),
		       size_format(summary->alias_bytes, bytes));
	if (summary->based)
		printf("%-14s %s, %s, of what is here are in the packs that it was made since\n",
		       "delta", count_noun(summary->based, "file", count),
		       size_format(summary->based_bytes, bytes));
}

/* ", 732 to 1,300 a class (median 1,300), imbalance 1.78" */
static void print_class_sizes(const struct class_sizes *sizes)
{
	char least[SIZE_TEXT], median[SIZE_TEXT], most[SIZE_TEXT], empty[SIZE_TEXT];

	if (sizes->filled && sizes->files.min == sizes->files.max)
		printf(", %s a class", count_format(sizes->files.min, least));
	else if (sizes->filled)
		printf(", %s to %s a class (median %s), imbalance %.3g",
		       count_format(sizes->files.min, least), count_format(sizes->files.max, most),
		       count_format(sizes->files.median, median), sizes->imbalance);
	if (sizes->empty)
		printf(", %s empty", count_format(sizes->empty, empty));
	putchar('\n');
}

static void print_classes(const struct summary *summary)
{
	const struct classes *classes = &summary->classes;
	char count[SIZE_TEXT];

	for (uint32_t i = 0; i < classes->split_count; i++) {
		const struct class_split *split = &classes->splits[i];

		printf("%-14s %s", i ? "" : "classes", count_format(split->count, count));
		if (classes->split) {
			printf(" in ");
			cmd_put_shown(split->name, split->name_len);
		}
		printf(", %s", count_noun(split->files, "file", count));
		print_class_sizes(&summary->class_sizes[i]);
	}
}

static void print_images(const struct summary *summary)
{
	char count[SIZE_TEXT];

	for (unsigned kind = 0; kind < IMAGE_KINDS; kind++) {
		const struct summary_images *images = summary->images + kind;

		if (images->count == 0)
			continue;
		printf("%-14s %s", kind ? image_kind_name(kind) : "other files",
		       count_format(images->count, count));
		if (images->sized)
			printf(", width %lu to %lu (median %lu), height %lu to %lu (median %lu)",
			       images->width.min, images->width.max, images->width.median,
			       images->height.min, images->height.max, images->height.median);
		putchar('\n');
	}
}

/* Prints "name=value" lines, one below the other. */
static void print_options(const struct buf *made_with)
{
	const char *at = made_with->data, *end = at + made_with->len;
	struct option_line line;

	if (at == end)
		printf("%-14s none that shape the content\n", "options");
	for (const char *label = "options"; options_next(&at, end, &line); label = "") {
		printf("%-14s ", label);
		cmd_put_shown(line.text, line.len);
		putchar('\n');
	}
}

static void print_text(const char *path, const struct dataset_info *info,
		       const struct summary *summary, bool verbose)
{
	const struct format_super *super = info->super;
	char count[SIZE_TEXT], more[64] = "";
	double percent;

	printf("%-14s ", "path");
	cmd_put_shown(path, strlen(path));
	putchar('\n');
	printf("%-14s %s\n", "id", info->id);
	if (summary->content_id[0])
		printf("%-14s %s%s\n", "content id", summary->content_id,
		       super->compat & FORMAT_CONTENT_ID ? ""
							 : " (not recorded: found from the index)");
	printf("%-14s %u\n", "format", super->version);
	print_count("files", super->files);
	print_count("folders", super->directories);
	print_count("symlinks", super->symlinks);
	print_count("hard links", super->hardlinks);
	if (super->left_out)
		print_count("left out", super->left_out);
	if (super->bytes) {
		percent = summary_overhead(info);
		if (!(super->incompat & FORMAT_UNCHECKED))
			snprintf(more, sizeof(more), ", %.1f %% %s than its files",
				 percent < 0 ? -percent : percent, percent < 0 ? "less" : "more");
	}
	print_size("bytes", super->bytes, "");
	print_size("pack", info->pack_bytes, more);
	print_aliases(summary);
	print_classes(summary);
	print_images(summary);
	print_options(&summary->options);
	if (summary->not_resized)
		printf("%-14s %s larger than these options ask for\n", "not resized",
		       count_noun(summary->not_resized, "image", count));
	printf("%-14s %.2f %% of the files do not follow the one before\n", "fragmentation",
	       100 * summary->fragmentation);
	if (info->relocated)
		printf("%-14s another LMDB tool has rewritten the pack; pack the folder again for "
		       "faster mounts\n",
		       "moved");
	if (verbose) {
		/* The files and bytes of each class. */
		char files[SIZE_TEXT], bytes[SIZE_TEXT];

		for (uint32_t i = 0; i < summary->classes.count; i++) {
			const struct class *class = &summary->classes.list[i];
			const struct class_split *split = &summary->classes.splits[class->split];

			printf("%-14s %9s files %10s  ", i ? "" : "class",
			       count_format(class->files, files), size_format(class->bytes, bytes));
			cmd_put_shown(split->name, split->name_len);
			if (summary->classes.split)
				putchar('/');
			cmd_put_shown(class->name, class->name_len);
			putchar('\n');
		}
	}
}

/* --- the command ------------------------------------------------------------------------ */

int cmd_info(int argc, char **argv)
{
	SCOPE(cmd_close) struct dataset *dataset = NULL;
	SCOPE(summary_release) struct summary summary = {0};
	SCOPE(buf_release) struct buf text = BUF_INIT;
	struct json json = json_begin(&text);
	struct settings settings = {0};
	const struct cmd_line line = CMD_LINE(&command, &settings, 1, 1);
	unsigned parts = DATASET_IMAGES;
	char **args;
	int r = cmd_parse(&line, argc, argv, &args);

	if (r != CMD_RUN)
		return r;
	settings.common.delta_ok = true;
	r = cmd_open(args[0], &settings.common, &dataset);
	if (r != EXIT_DONE)
		return r;
	/* For the content id, where it is not recorded. */
	if (!(dataset_info(dataset)->super->compat & FORMAT_CONTENT_ID) &&
	    !dataset_is_unchecked(dataset))
		parts |= DATASET_CHECKSUMS;
	r = cmd_load(args[0], dataset, parts);
	if (r != EXIT_DONE)
		return r;
	r = summary_new(dataset, &summary);
	if (r == 0 && settings.json) {
		json_object(&json, NULL);
		json_bytes(&json, "path", args[0], strlen(args[0]));
		summary_json(dataset_info(dataset), &summary, settings.common.verbose, &json);
		json_end(&json);
		r = cmd_print_json(&text);
	} else if (r == 0) {
		print_text(args[0], dataset_info(dataset), &summary, settings.common.verbose);
	}
	return exit_finish(cmd_status(args[0], r, NULL));
}
