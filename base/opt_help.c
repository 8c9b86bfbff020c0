#include "base/opt.h"
#include <inttypes.h>
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
	for (size_t i = 0; row->choices && row->choices[i]; i++)
		width += fprintf(out, "%s%s", i ? "|" : "", row->choices[i]);
	if (row->arg)
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

/* Each behind a lead, which is another one for the first, and a name. */
static void put_lines(FILE *out, const char *first, const char *others, const char *name,
		      const char *lines)
{
	while (*lines) {
		int len = (int)strcspn(lines, "\n");

		fprintf(out, "%s%s%s%.*s\n", first, name, *name ? " " : "", len, lines);
		lines += len;
		lines += *lines == '\n';
		first = others;
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

	put_lines(out, "usage: ", "       ", command->name, command->synopsis);
	fprintf(out, "\n%s\n", command->summary);
	if (command->examples) {
		fputs("\nexamples:\n", out);
		put_lines(out, "  ", "  ", "", command->examples);
	}
	if (opt_help_table(command->table, !command->elsewhere, out))
		fputs("\nmore:\n", out);
	if (command->mount_style)
		put_entry(out, &mount);
	for (const struct opt *row = opt_builtin; row->kind != OPT_KIND_END; row++)
		put_entry(out, row);
	if (command->elsewhere)
		fprintf(out, "\n%s\n", command->elsewhere);
}

/* --- what was given ------------------------------------------------------------------- */

/* The value of a number or a choice, as it may be given again. */
static const char *text_of(const struct opt *row, const void *field, char buf[static 24])
{
	switch (row->kind) {
	case OPT_KIND_STRING:
		return *(const char *const *)field;
	case OPT_KIND_CHOICE:
		return row->choices[*(const int *)field];
	case OPT_KIND_OCTAL:
		snprintf(buf, 24, "%" PRIo64, *(const uint64_t *)field);
		return buf;
	case OPT_KIND_SIZE:
	case OPT_KIND_NUMBER:
		snprintf(buf, 24, "%" PRIu64, *(const uint64_t *)field);
		return buf;
	default:
		return NULL;
	}
}

static bool is_same(const struct opt *row, const void *field, const void *other)
{
	switch (row->kind) {
	case OPT_KIND_FLAG:
		return *(const bool *)field == *(const bool *)other;
	case OPT_KIND_STRING:
		return *(const char *const *)field == *(const char *const *)other;
	case OPT_KIND_CHOICE:
		return *(const int *)field == *(const int *)other;
	default:
		return *(const uint64_t *)field == *(const uint64_t *)other;
	}
}

void opt_given(const struct opt *table, const void *settings, const void *defaults,
	       void (*each)(void *context, const char *name, const char *value), void *context)
{
	for (const struct opt *row = table; row->kind != OPT_KIND_END; row++) {
		const void *field = (const char *)settings + row->offset;
		const struct opt_list *list = field;
		char buf[24];

		if (!row->name)
			continue;
		if (row->kind == OPT_KIND_LIST)
			for (size_t i = 0; i < list->count; i++)
				each(context, row->name, list->items[i]);
		else if (!is_same(row, field, (const char *)defaults + row->offset))
			each(context, row->name, text_of(row, field, buf));
	}
}
