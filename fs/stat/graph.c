#include "fs/stat/graph.h"
#include <math.h>

#define LEVELS 8 /* a character has so many heights */

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
