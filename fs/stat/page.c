#include "fs/stat/page.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUTF_MAX 1024 /* bytes; no page is wider */
#define LEVELS	 8    /* a character has so many heights */

int page_init(struct page *page, int rows, int columns, bool blocks)
{
	size_t count = (size_t)rows * (size_t)columns;
	struct page_cell *cells = calloc(count ? count : 1, sizeof(*cells));

	if (!cells)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		cells[i].character = L' ';
	*page = (struct page){.rows = rows, .columns = columns, .blocks = blocks, .cells = cells};
	return 0;
}

void page_release(struct page *page)
{
	free(page->cells);
	page->cells = NULL;
}

void page_set(struct page *page, int row, int column, enum page_style style, wchar_t character)
{
	if (row >= 0 && row < page->rows && column >= 0 && column < page->columns)
		page->cells[row * page->columns + column] = (struct page_cell){character, style};
}

/* Puts text[0..len). */
static int put_part(struct page *page, int row, int column, enum page_style style, const char *text,
		    size_t len)
{
	const char *end = text + len;

	while (text < end) {
		mbstate_t state = {0};
		wchar_t character;
		size_t bytes = mbrtowc(&character, text, strlen(text), &state);
		bool valid = bytes != (size_t)-1 && bytes != (size_t)-2;
		int width;

		text += valid ? bytes : 1;
		if (!valid || wcwidth(character) <= 0)
			character = L'?';
		width = wcwidth(character);
		if (column + width > page->columns)
			return page->columns;
		page_set(page, row, column, style, character);
		if (width == 2)
			page_set(page, row, column + 1, style, 0);
		column += width;
	}
	return column;
}

int page_put(struct page *page, int row, int column, enum page_style style, const char *text)
{
	return put_part(page, row, column, style, text, strlen(text));
}

int page_putf(struct page *page, int row, int column, enum page_style style, const char *format,
	      ...)
{
	char text[PUTF_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return page_put(page, row, column, style, text);
}

/* --- rows of text ------------------------------------------------------------------------ */

int page_wrap(struct page *page, int row, int column, int rows, enum page_style style,
	      const char *text)
{
	int room = page->columns - column;
	int end = row + rows;

	while (*text && row < end) {
		/* Up to a newline, or to the last blank that fits. Bytes count as columns: names
		 * that are not ASCII break early. */
		size_t line = strcspn(text, "\n"), len = room > 0 ? (size_t)room : 0;

		if (row + 1 == end || line < len)
			len = line;
		while (len < line && len > 0 && text[len] != ' ')
			len--;
		if (len == 0)
			len = line;
		put_part(page, row++, column, style, text, len);
		text += len;
		text += *text == ' ' || *text == '\n';
	}
	return row;
}

/* --- graphs -------------------------------------------------------------------------------- */

/* From the lowest to a full one. */
static wchar_t level_character(const struct page *page, int level)
{
	static const wchar_t blocks[LEVELS + 1] =
		L"\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588";
	static const wchar_t ascii[LEVELS + 1] = L".:-=+*%#";

	return page->blocks ? blocks[level - 1] : ascii[level - 1];
}

static double clamp_share(double share)
{
	return share < 0 ? 0 : share > 1 ? 1 : share;
}

void graph_columns(struct page *page, int bottom, int column, int rows, enum page_style style,
		   const double *values, int count, double top)
{
	for (int i = 0; i < count; i++) {
		int level;

		if (isnan(values[i]))
			continue;
		level = (int)ceil(clamp_share(values[i] / top) * rows * LEVELS);
		level = level ? level : 1;
		for (int row = bottom; level > 0; row--, level -= LEVELS)
			page_set(page, row, column + i, style,
				 level_character(page, level < LEVELS ? level : LEVELS));
	}
}

void graph_bar(struct page *page, int row, int column, int width, enum page_style style,
	       double share)
{
	int filled = (int)(clamp_share(share) * (width - 2) + 0.5);

	page_set(page, row, column, PAGE_DIM, L'[');
	for (int i = 0; i < width - 2; i++)
		page_set(page, row, column + 1 + i, i < filled ? style : PAGE_DIM,
			 i < filled ? level_character(page, LEVELS) : L'.');
	page_set(page, row, column + width - 1, PAGE_DIM, L']');
}
