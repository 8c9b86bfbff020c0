/* foldpack list: one line an entry, byte-exact. */
#include "base/json.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "pack/tool/cli/cmd.h"
#include "pack/tool/read/listing.h"
#include <inttypes.h>

struct settings {
	struct cmd_common common;
	bool detailed, json, nul;
};

static const struct opt options[] = {
	OPT_FLAG('l', "long", struct settings, detailed,
		 "print mode, size, width and height, and checksum (XXH3-64; of a file over 1 MiB "
		 "the XXH3-64 of the little-endian checksums of its MiBs) before each path"),
	OPT_FLAG(0, "json", struct settings, json, "one JSON object per line"),
	OPT_FLAG('0', "null", struct settings, nul, "end paths with NUL, not with a newline"),
	CMD_PACK_OPTIONS(struct settings),
	OPT_END,
};

static const struct opt_command command = {
	.name = "foldpack list",
	.synopsis = "[options] PACK [PATH]",
	.summary =
		"Lists the paths of all files and links in PACK, or of those at and below PATH,\n"
		"and of empty folders, which end in a slash.",
	.table = options,
	.elsewhere = CMD_ELSEWHERE,
};

struct list {
	struct settings settings;
	struct dataset *dataset;
	bool terminal;	       /* names go to one */
	struct buf path, line; /* of the current entry */
};

static void list_release(struct list *list)
{
	dataset_free(list->dataset);
	buf_release(&list->path);
	buf_release(&list->line);
}

#define TEXT_MODE 11 /* "-rw-r--r--" and its NUL */

/* As ls -l shows it. Returns buf. */
static const char *text_mode(enum format_kind kind, mode_t mode, char buf[static TEXT_MODE])
{
	static const char letters[] = "rwxrwxrwx";
	static const struct {
		mode_t bit;
		int at;
		char with_x, without;
	} special[] = {{04000, 3, 's', 'S'}, {02000, 6, 's', 'S'}, {01000, 9, 't', 'T'}};

	buf[0] = kind == FORMAT_DIRECTORY ? 'd' : kind == FORMAT_SYMLINK ? 'l' : '-';
	for (unsigned i = 0; i < 9; i++)
		buf[1 + i] = mode & (0400u >> i) ? letters[i] : '-';
	for (unsigned i = 0; i < 3; i++) {
		char *x = buf + special[i].at;

		if (mode & special[i].bit)
			*x = *x == 'x' ? special[i].with_x : special[i].without;
	}
	buf[10] = '\0';
	return buf;
}

/* "-rw-r--r--       112300   500x375   0123456789abcdef  " */
static int add_details(struct list *list, uint32_t number, const struct dataset_entry *entry)
{
	char mode[TEXT_MODE], pixels[32] = "-";
	struct listing_facts facts;
	int r = listing_facts(list->dataset, number, LISTING_PARTS, &facts);

	if (r < 0)
		return r;
	if (facts.image.width)
		snprintf(pixels, sizeof(pixels), "%" PRIu32 "x%" PRIu32, facts.image.width,
			 facts.image.height);
	return buf_addf(&list->line, "%s %12" PRIu64 " %11s %16s ",
			text_mode(entry->kind, facts.attr.mode, mode), entry->size, pixels,
			facts.checksum);
}

static void add_shown(struct list *list, const char *name, size_t len)
{
	if (list->terminal)
		utf8_add_shown(&list->line, name, len);
	else
		buf_add(&list->line, name, len);
}

static int list_plain(struct list *list, uint32_t number, const struct dataset_entry *entry)
{
	int r = list->settings.detailed ? add_details(list, number, entry) : 0;
	const char *target;
	size_t len;

	list->path.len = 0;
	if (r == 0)
		r = dataset_path(list->dataset, number, &list->path);
	if (r < 0)
		return r;
	add_shown(list, list->path.data, list->path.len);
	if (entry->kind == FORMAT_DIRECTORY)
		buf_add(&list->line, "/", 1);
	if (entry->kind == FORMAT_SYMLINK && list->settings.detailed) {
		target = dataset_target(list->dataset, number, &len);
		buf_adds(&list->line, " -> ");
		add_shown(list, target, len);
	}
	return buf_add(&list->line, list->settings.nul ? "" : "\n", 1);
}

static int list_all(struct list *list, const char *pack, const struct subtree *subtree)
{
	struct dataset_entry entry;
	struct json json;
	int r;

	for (uint32_t number = 1; number < dataset_entries(list->dataset); number++) {
		if (subtree_mark(subtree, number) != SUBTREE_INSIDE)
			continue;
		entry = dataset_entry(list->dataset, number);
		if (entry.kind == FORMAT_DIRECTORY && entry.children > 0)
			continue;
		list->line.len = 0;
		if (list->settings.json) {
			json = json_begin(&list->line);
			json_object(&json, NULL);
			r = listing_json(list->dataset, number, LISTING_PARTS, &json);
			json_end(&json);
			if (r == 0)
				r = buf_add(&list->line, "\n", 1);
		} else {
			r = list_plain(list, number, &entry);
		}
		if (r < 0)
			return cmd_status(pack, r, NULL);
		if (fwrite(list->line.data, 1, list->line.len, stdout) < list->line.len)
			break;
	}
	return EXIT_DONE;
}

int cmd_list(int argc, char **argv)
{
	SCOPE(list_release) struct list list = {0};
	SCOPE(subtree_release) struct subtree subtree = {0};
	const struct cmd_line line = CMD_LINE(&command, &list.settings, 1, 2);
	char **args;
	int r = cmd_parse(&line, argc, argv, &args);

	if (r != CMD_RUN)
		return r;
	r = cmd_open(args[0], &list.settings.common, &list.dataset);
	if (r == EXIT_DONE)
		r = subtree_new(args[0], list.dataset, args + 1, &subtree);
	if (r == EXIT_DONE && (list.settings.detailed || list.settings.json))
		r = cmd_load(args[0], list.dataset, LISTING_PARTS);
	list.terminal = isatty(STDOUT_FILENO) && !list.settings.nul;
	if (r == EXIT_DONE)
		r = list_all(&list, args[0], &subtree);
	return exit_finish(r);
}
