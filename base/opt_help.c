#include "base/opt.h"
#include <string.h>

/* The column where all help texts begin, after " -p, --pool=SIZE". */
#define HELP_COLUMN 28
#define HELP_WIDTH  80

/* The output and its column, to break lines between words. */
struct page {
	FILE *out;
	int column;
};

static void break_line(struct page *page)
{
	fprintf(page->out, "\n%*s", HELP_COLUMN, "");
	page->column = HELP_COLUMN;
}

/* Writes words, breaking lines where the next does not fit. */
static void put_wrapped(struct page *page, const char *text)
{
	while (*text) {
		int len = (int)strcspn(text, " ");
		bool first = page->column == HELP_COLUMN;

		if (!first && page->column + 1 + len > HELP_WIDTH) {
			break_line(page);
			first = true;
		}
		page->column += fprintf(page->out, "%s%.*s", first ? "" : " ", len, text);
		text += len;
		text += strspn(text, " ");
	}
}

static int put_choices(FILE *out, const char *const *choices)
{
	int width = 0;

	for (size_t i = 0; choices[i]; i++)
		width += fprintf(out, "%s%s", i ? "|" : "", choices[i]);
	return width;
}

/* Prints " -j, --jobs=N". Returns its width. */
static int put_label(FILE *out, const struct opt *row)
{
	bool has_name = row->name && !row->letter_only;
	bool has_value = row->arg || row->choices;
	int width = row->letter ? fprintf(out, "  -%c", row->letter) : fprintf(out, "    ");

	if (has_name)
		width += fprintf(out, "%s --%s", row->letter ? "," : " ", row->name);
	if (has_value)
		width += fprintf(out, has_name ? "=" : " ");
	if (row->choices)
		width += put_choices(out, row->choices);
	else if (row->arg)
		width += fprintf(out, "%s", row->arg);
	return width;
}

static void put_entry(FILE *out, const struct opt *row)
{
	struct page page = {.out = out, .column = put_label(out, row)};

	if (page.column > HELP_COLUMN - 2)
		break_line(&page);
	page.column += fprintf(out, "%*s", HELP_COLUMN - page.column, "");
	put_wrapped(&page, row->help);
	fputc('\n', out);
}

/* Prints a line for each form of the command: the name and a line of the synopsis. */
static void put_usage(FILE *out, const char *name, const char *synopsis)
{
	const char *lead = "usage:";

	while (*synopsis) {
		int len = (int)strcspn(synopsis, "\n");

		fprintf(out, "%-6s %s %.*s\n", lead, name, len, synopsis);
		synopsis += len;
		synopsis += *synopsis == '\n';
		lead = "";
	}
}

static void put_lines(FILE *out, const char *lines)
{
	while (*lines) {
		int len = (int)strcspn(lines, "\n");

		fprintf(out, "  %.*s\n", len, lines);
		lines += len;
		lines += *lines == '\n';
	}
}

static bool is_heading(const struct opt *row)
{
	return row->kind == OPT_KIND_GROUP || row->kind == OPT_KIND_SHARED;
}

bool opt_help_table(const struct opt *table, bool shared, FILE *out)
{
	bool shown = true, grouped = is_heading(table);

	if (!grouped)
		fputs("\noptions:\n", out);
	for (const struct opt *row = table; row->kind != OPT_KIND_END; row++) {
		if (is_heading(row))
			shown = shared || row->kind == OPT_KIND_GROUP;
		if (shown && is_heading(row))
			fprintf(out, "\n%s:\n", row->help);
		else if (shown)
			put_entry(out, row);
	}
	return grouped;
}

void opt_help(const struct opt_command *command, FILE *out)
{
	static const struct opt mount = {.letter = 'o',
					 .arg = "NAME[=VALUE],...",
					 .help = "the same options by name, as in fstab"};
	static const struct opt builtin[] = {
		{.kind = OPT_KIND_FLAG, .letter = 'h', .name = "help", .help = "show this help"},
		{.kind = OPT_KIND_FLAG,
		 .letter = 'V',
		 .name = "version",
		 .help = "show the version"},
	};

	put_usage(out, command->name, command->synopsis);
	fprintf(out, "\n%s\n", command->summary);
	if (command->examples) {
		fputs("\nexamples:\n", out);
		put_lines(out, command->examples);
	}
	if (opt_help_table(command->table, !command->elsewhere, out))
		fputs("\nmore:\n", out);
	if (command->mount_style)
		put_entry(out, &mount);
	put_entry(out, &builtin[0]);
	put_entry(out, &builtin[1]);
	if (command->elsewhere)
		fprintf(out, "\n%s\n", command->elsewhere);
}
