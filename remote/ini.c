#include "remote/ini.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/scope.h"
#include "base/size.h"
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define FILE_MAX MIB

/* All point into the text. */
struct ini_entry {
	const char *section;
	const char *parent; /* the name that an indented one belongs to; NULL: it is not indented */
	const char *name;   /* NULL: the section itself */
	const char *value;
};

struct ini {
	struct buf text;    /* NUL-ended */
	struct buf entries; /* struct ini_entry */
};

static char *trimmed(char *text)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text;
}

/* Where a comment begins. `quotes`: not between quotes, as commands have them. Returns its '#' or
 * ';', or the end; NULL: quotes are left open. */
static char *find_comment(char *text, bool quotes)
{
	char open = '\0', *c;

	for (c = text; *c; c++) {
		if (open || (quotes && (*c == '"' || *c == '\'')))
			open = open == *c ? '\0' : open ? open : *c;
		else if ((*c == '#' || *c == ';') && (c == text || isspace((unsigned char)c[-1])))
			break;
	}
	return open ? NULL : c;
}

static void cut_comment(char *text)
{
	char *at = find_comment(text, true);

	*(at ? at : find_comment(text, false)) = '\0';
}

/* [profile "with space"] */
static void unquote(char *section)
{
	char *first = strpbrk(section, "\"'"), *last = section + strlen(section) - 1;

	if (!first || first == last || *first != *last)
		return;
	*last = '\0';
	memmove(first, first + 1, strlen(first));
}

/* Reads one line. `at` carries on from line to line: the section, and the name that indented lines
 * belong to. */
static int parse_line(struct ini *ini, char *line, struct ini_entry *at)
{
	bool indented = isspace((unsigned char)*line);
	char *equals, *end;

	cut_comment(line);
	line = trimmed(line);
	end = line + strlen(line);
	if (*line == '[' && end[-1] == ']') {
		end[-1] = '\0';
		line = trimmed(line + 1);
		unquote(line);
		*at = (struct ini_entry){.section = line, .value = ""};
		return buf_add(&ini->entries, at, sizeof(*at));
	}
	equals = strchr(line, '=');
	if (!equals || !at->section)
		return 0;
	*equals = '\0';
	if (!indented)
		at->parent = NULL;
	at->name = trimmed(line);
	at->value = trimmed(equals + 1);
	if (buf_add(&ini->entries, at, sizeof(*at)) < 0)
		return -ENOMEM;
	if (!indented)
		at->parent = at->name;
	return 0;
}

static int load(const char *path, struct buf *text, struct err *err)
{
	SCOPE_CLOSE int fd = io_open_given(path, err);
	ssize_t n;

	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR ? buf_adds(text, "") : fd;
	if (buf_reserve(text, FILE_MAX + 1) < 0)
		return -ENOMEM;
	n = io_read(fd, text->data, FILE_MAX + 1);
	if (n < 0)
		return (int)n;
	if ((size_t)n > FILE_MAX)
		return -EFBIG;
	text->len = (size_t)n;
	text->data[n] = '\0';
	return 0;
}

int ini_open(const char *path, struct ini **ret, struct err *err)
{
	struct ini *ini = calloc(1, sizeof(*ini));
	struct ini_entry at = {0};
	struct err reason = {0};
	int r = ini ? load(path, &ini->text, &reason) : -ENOMEM;
	char *line, *rest = r == 0 ? ini->text.data : NULL;

	while (r == 0 && (line = strsep(&rest, "\n")))
		r = parse_line(ini, line, &at);
	if (r < 0) {
		ini_free(ini);
		return err_set(err, r, "%s: %s", path, err_text(&reason, r));
	}
	*ret = ini;
	return 0;
}

void ini_free(struct ini *ini)
{
	if (!ini)
		return;
	buf_release(&ini->text);
	buf_release(&ini->entries);
	free(ini);
}

static bool named(const struct ini_entry *entry, const char *name)
{
	size_t len = entry->parent ? strlen(entry->parent) : 0;

	if (!name || !entry->name)
		return name == entry->name;
	if (!entry->parent)
		return strcmp(entry->name, name) == 0;
	return strncmp(name, entry->parent, len) == 0 && name[len] == '.' &&
	       strcmp(name + len + 1, entry->name) == 0;
}

const char *ini_get(const struct ini *ini, const char *section, const char *name)
{
	const struct ini_entry *entries = (const struct ini_entry *)ini->entries.data;
	const char *value = NULL;

	for (size_t i = 0; i < BUF_COUNT(&ini->entries, *entries); i++)
		if (strcmp(entries[i].section, section) == 0 && named(&entries[i], name))
			value = entries[i].value;
	return value;
}
