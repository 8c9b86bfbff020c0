#include "pack/tool/report/html.h"

#include "base/size.h"
#include "base/utf8.h"
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct html html_begin(struct buf *buf)
{
	return (struct html){.buf = buf};
}

static void put(struct html *html, const char *data, size_t len)
{
	if (html->error == 0)
		html->error = buf_add(html->buf, data, len);
}

void html_put(struct html *html, const char *markup)
{
	put(html, markup, strlen(markup));
}

void html_putf(struct html *html, const char *format, ...)
{
	char text[512];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(text))
		html->error = html->error ? html->error : -E2BIG;
	else
		put(html, text, (size_t)len);
}

/* --- text ------------------------------------------------------------------------------- */

static const char *entity_of(uint32_t code)
{
	switch (code) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

/* Controls, what turns the direction of writing (a name could look like another one), and what
 * XML forbids. */
static bool is_hidden(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
	       code == 0xfeff || (code & 0xfffe) == 0xfffe || code == 0xad || code == 0x61c;
}

static void put_octal(struct html *html, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		html_putf(html, "\\%03o", (unsigned char)bytes[i]);
}

void html_text(struct html *html, const char *text, size_t len)
{
	size_t from = 0, at = 0, n; /* text[from..at) may be copied as it is */
	const char *entity;
	uint32_t code;

	for (; at < len; at += n) {
		n = utf8_decode(text + at, len - at, &code);
		entity = n ? entity_of(code) : NULL;
		if (n && !entity && !is_hidden(code))
			continue;
		put(html, text + from, at - from);
		if (entity)
			html_put(html, entity);
		else
			put_octal(html, text + at, n ? n : 1);
		n = n ? n : 1;
		from = at + n;
	}
	if (len > 0)
		put(html, text + from, len - from);
}

void html_string(struct html *html, const char *text)
{
	html_text(html, text, strlen(text));
}

void html_count(struct html *html, uint64_t count)
{
	char text[SIZE_TEXT];

	html_put(html, count_format(count, text));
}

void html_size(struct html *html, uint64_t bytes)
{
	char text[SIZE_TEXT];

	html_put(html, size_format(bytes, text));
}

void html_number_of(struct html *html, uint64_t count, const char *noun)
{
	char text[SIZE_TEXT];

	html_put(html, count_noun(count, noun, text));
}

/* --- base64 ----------------------------------------------------------------------------- */

static void encode(const uint8_t *in, size_t len, char out[4])
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = (uint32_t)in[0] << 16 | (len > 1 ? (uint32_t)in[1] << 8 : 0) |
			(len > 2 ? in[2] : 0);

	out[0] = digits[bits >> 18];
	out[1] = digits[bits >> 12 & 63];
	out[2] = '=';
	out[3] = '=';
	if (len > 1)
		out[2] = digits[bits >> 6 & 63];
	if (len > 2)
		out[3] = digits[bits & 63];
}

void html_base64(struct html *html, const void *data, size_t len)
{
	const uint8_t *bytes = data;

	if (html->error == 0)
		html->error = buf_reserve(html->buf, (len / 3 + 1) * 4);
	if (html->error)
		return;
	for (size_t at = 0; at < len; at += 3) {
		encode(bytes + at, len - at, html->buf->data + html->buf->len);
		html->buf->len += 4;
	}
}

int html_finish(const struct html *html)
{
	return html->error;
}
