#include "base/buf.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_SMALLEST 64

void buf_release(struct buf *buf)
{
	free(buf->data);
	*buf = BUF_INIT;
}

int buf_error(const struct buf *buf)
{
	return buf->failed ? -ENOMEM : 0;
}

int buf_reserve(struct buf *buf, size_t more)
{
	size_t need;
	size_t room = buf->room ? buf->room : BUF_SMALLEST;
	char *data;

	buf->failed |= __builtin_add_overflow(buf->len, more, &need);
	if (buf->failed || need <= buf->room)
		return buf_error(buf);
	/* Doubling keeps many small appends linear. */
	while (room < need)
		room = room > SIZE_MAX / 2 ? need : room * 2;
	data = realloc(buf->data, room);
	buf->failed = !data;
	if (data) {
		buf->data = data;
		buf->room = room;
	}
	return buf_error(buf);
}

int buf_add(struct buf *buf, const void *data, size_t len)
{
	int r = buf_reserve(buf, len);

	if (r < 0 || len == 0)
		return r;
	memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	return 0;
}

int buf_adds(struct buf *buf, const char *text)
{
	size_t len = strlen(text);
	int r = buf_add(buf, text, len + 1);

	if (r == 0)
		buf->len--;
	return r;
}

int buf_add_escaped(struct buf *buf, const char *text, size_t len, const char *characters)
{
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (c && strchr(characters, c))
			buf_addf(buf, "\\%c", c == '\t' ? 't' : c == '\n' ? 'n' : c);
		else
			buf_add(buf, &c, 1);
	}
	return buf_error(buf);
}

int buf_addv(struct buf *buf, const char *format, va_list args)
{
	va_list again;
	int len, r;

	va_copy(again, args);
	len = vsnprintf(NULL, 0, format, again);
	va_end(again);
	buf->failed |= len < 0;
	r = buf_reserve(buf, (size_t)len + 1);
	if (r < 0)
		return r;
	vsnprintf(buf->data + buf->len, (size_t)len + 1, format, args);
	buf->len += (size_t)len;
	return 0;
}

int buf_addf(struct buf *buf, const char *format, ...)
{
	va_list args;
	int r;

	va_start(args, format);
	r = buf_addv(buf, format, args);
	va_end(args);
	return r;
}

void buf_sort(struct buf *buf, size_t item_bytes, buf_compare_fn *compare)
{
	if (buf->len)
		qsort(buf->data, buf->len / item_bytes, item_bytes, compare);
}

void *buf_find(const struct buf *buf, const void *key, size_t item_bytes, buf_compare_fn *compare)
{
	return buf->len ? bsearch(key, buf->data, buf->len / item_bytes, item_bytes, compare)
			: NULL;
}
