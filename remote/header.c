#include "remote/header.h"
#include "base/buf.h"
#include "base/scope.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* --- lines ------------------------------------------------------------------------------------ */

int header_addf(header_add_fn *add, void *context, const char *format, ...)
{
	SCOPE(buf_release) struct buf line = BUF_INIT;
	va_list args;
	int r;

	va_start(args, format);
	r = buf_addv(&line, format, args);
	va_end(args);
	return r < 0 ? r : add(context, line.data);
}

bool header_find(const char *headers, const char *name, char *buf, size_t size)
{
	const char *value = NULL;
	size_t len = 0;

	while (*headers) {
		size_t line = strcspn(headers, "\r\n"), at = strlen(name);

		if (line > at && strncasecmp(headers, name, at) == 0 && headers[at] == ':') {
			at += 1 + strspn(headers + at + 1, " \t");
			value = headers + at;
			len = line - at;
			while (len > 0 && strchr(" \t", value[len - 1]))
				len--;
		}
		headers += line + (headers[line] != '\0');
	}
	if (!value || len >= size)
		return false;
	memcpy(buf, value, len);
	buf[len] = '\0';
	return true;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Reads a number, and moves on to what follows it. Numbers beyond an off_t are refused. */
static bool take_number(const char **text, uint64_t *ret)
{
	uint64_t number = 0;

	if (!isdigit((unsigned char)**text))
		return false;
	for (; isdigit((unsigned char)**text); ++*text) {
		if (number > INT64_MAX / 10 - 1)
			return false;
		number = number * 10 + (uint64_t)(**text - '0');
	}
	*ret = number;
	return true;
}

static bool take_char(const char **text, char c)
{
	if (**text != c)
		return false;
	++*text;
	return true;
}

bool content_range_parse(const char *value, struct content_range *ret)
{
	struct content_range range = {0};

	if (strncasecmp(value, "bytes ", 6) != 0)
		return false;
	value += 6;
	range.none = take_char(&value, '*');
	if (!range.none && !(take_number(&value, &range.first) && take_char(&value, '-') &&
			     take_number(&value, &range.last)))
		return false;
	if (!take_char(&value, '/') || !take_number(&value, &range.total) || *value)
		return false;
	if (!range.none && (range.last < range.first || range.last >= range.total))
		return false;
	*ret = range;
	return true;
}

uint64_t header_time(const char *date)
{
	struct tm tm = {0};
	time_t time = strptime(date, "%a, %d %b %Y %H:%M:%S GMT", &tm) ? timegm(&tm) : 0;

	return time > 0 ? (uint64_t)time : 0;
}
