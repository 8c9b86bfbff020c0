/* Writes HTML into a buf, so that any bytes may stand in it as text.
 *
 *	struct html html = html_begin(&buf);
 *	html_put(&html, "<b title=\"");
 *	html_text(&html, name, name_len);
 *	html_put(&html, "\">");
 *
 * The markup is the caller's, and well-formed XML, too, if that is: what is written as text
 * never is markup, neither between tags nor in an attribute in double quotes. Running out of
 * memory is remembered, and said once, by html_finish(). */
#ifndef PACK_TOOL_REPORT_HTML_H
#define PACK_TOOL_REPORT_HTML_H

#include "base/buf.h"

struct html {
	struct buf *buf; /* borrowed */
	int error;	 /* the first -errno */
};

struct html html_begin(struct buf *buf);

/* Markup, as it is. */
void html_put(struct html *html, const char *markup);
void html_putf(struct html *html, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Text of any bytes. What is no UTF-8, and what is not to be seen or turns the direction of
 * writing, is shown as \ooo, each byte of it. */
void html_text(struct html *html, const char *text, size_t len);
void html_string(struct html *html, const char *text);
void html_count(struct html *html, uint64_t count); /* 1,281,167 */
void html_size(struct html *html, uint64_t bytes);  /* 139 GiB */
/* "1 file", "3 files": the noun takes an s. */
void html_number_of(struct html *html, uint64_t count, const char *noun);

/* Bytes as the rest of a "data:...;base64," address. */
void html_base64(struct html *html, const void *data, size_t len);

/* 0, or the first error. */
int html_finish(const struct html *html);

#endif
