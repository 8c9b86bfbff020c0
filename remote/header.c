#include "remote/header.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* --- lines ------------------------------------------------------------------------------------ */

int header_add(struct buf *lines, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buf_addv(lines, format, args);
	va_end(args);
	return buf_add(lines, "", 1);
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

/* Numbers of 18 digits fit into an off_t. */
bool content_range_parse(const char *value, struct content_range *ret)
{
	char first[19], last[19], total[19];
	struct content_range range;
	int end = 0;

	if (strncasecmp(value, "bytes ", 6) != 0)
		return false;
	value += 6;
	if (sscanf(value, "%18[0-9]-%18[0-9]/%18[0-9]%n", first, last, total, &end) != 3 ||
	    value[end])
		return false;
	range = (struct content_range){.first = strtoull(first, NULL, 10),
				       .last = strtoull(last, NULL, 10),
				       .total = strtoull(total, NULL, 10)};
	if (range.last < range.first || range.last >= range.total)
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
