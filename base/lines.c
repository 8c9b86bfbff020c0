#include "base/lines.h"
#include <errno.h>
#include <string.h>

#define MARK	 "\xef\xbb\xbf"
#define MARK_LEN (sizeof(MARK) - 1)

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void cut_front(const char **text, size_t *len, size_t bytes)
{
	*text += bytes;
	*len -= bytes;
}

bool lines_item(const char **text, size_t *len, bool first)
{
	if (first && *len >= MARK_LEN && memcmp(*text, MARK, MARK_LEN) == 0)
		cut_front(text, len, MARK_LEN);
	if (*len && (*text)[*len - 1] == '\r')
		--*len;
	while (*len && is_blank(**text))
		cut_front(text, len, 1);
	if (*len == 0 || **text == '#')
		return false;
	if (*len > 2 && memcmp(*text, "./", 2) == 0 && ((*text)[2] == '#' || is_blank((*text)[2])))
		cut_front(text, len, 2);
	return true;
}

int lines_begin(const char *text, size_t len, struct lines *ret, struct err *err)
{
	bool wide = len >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || !memcmp(text, "\xfe\xff", 2));

	if (wide)
		return err_set(err, -EINVAL, "is a list in UTF-16; save it as UTF-8");
	if (len && memchr(text, '\0', len))
		return err_set(err, -EINVAL, "not a list: it has zero bytes in it");
	*ret = (struct lines){.at = text, .end = text + len};
	return 0;
}

bool lines_next(struct lines *lines, const char **ret, size_t *ret_len)
{
	while (lines->at < lines->end) {
		const char *line = lines->at;
		const char *newline = memchr(line, '\n', (size_t)(lines->end - line));
		size_t len = (size_t)((newline ? newline : lines->end) - line);

		lines->at = newline ? newline + 1 : lines->end;
		if (!lines_item(&line, &len, lines->line++ == 0))
			continue;
		*ret = line;
		*ret_len = len;
		return true;
	}
	return false;
}
