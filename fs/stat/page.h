/* A screen before a terminal gets it: characters with styles, in rows and columns. Pure.
 *
 * Whatever is put on a page is fit for a terminal. What the locale cannot show, or would not show
 * in a column of its own (control characters, bytes that are no characters), becomes a '?'. What
 * does not fit is cut. */
#pragma once

#include <stdbool.h>
#include <wchar.h>

enum page_style {
	PAGE_PLAIN,
	PAGE_TITLE,
	PAGE_DIM, /* less important */
	PAGE_GOOD,
	PAGE_WARN,
	PAGE_BAD,
	PAGE_STYLES
};

struct page_cell {
	wchar_t character; /* 0: the second column of the one before */
	enum page_style style;
};

struct page {
	int rows, columns;
	bool blocks; /* the terminal has U+2581..U+2588: graphs are drawn with them */
	struct page_cell *cells;
};

/* A blank page. Returns 0 or -ENOMEM. */
int page_init(struct page *page, int rows, int columns, bool blocks);
void page_release(struct page *page);

/* Puts one character of one column; no effect outside of the page. */
void page_set(struct page *page, int row, int column, enum page_style style, wchar_t character);

/* Puts text. Returns the column after it. */
int page_put(struct page *page, int row, int column, enum page_style style, const char *text);
int page_putf(struct page *page, int row, int column, enum page_style style, const char *format,
	      ...) __attribute__((format(printf, 5, 6)));

/* Puts text in up to `rows` rows that begin in `column`, broken at blanks and newlines. The last
 * row has the whole rest, and is cut. Returns the row after it. */
int page_wrap(struct page *page, int row, int column, int rows, enum page_style style,
	      const char *text);

/* Draws values[0..count) side by side, each as a column up to `rows` high that stands on row
 * `bottom`; `top` (over 0) fills a column. A value always shows, 0 too; NAN is blank. */
void graph_columns(struct page *page, int bottom, int column, int rows, enum page_style style,
		   const double *values, int count, double top);

/* Draws a bar of `width` columns, of which `share` (0 to 1) is filled. */
void graph_bar(struct page *page, int row, int column, int width, enum page_style style,
	       double share);
