/* Graphs on a page: columns for the time that passed, and bars for shares. Pure. */
#pragma once

#include "fs/stat/page.h"

/* Draws values[0..count) side by side, each as a column up to `rows` high that stands on row
 * `bottom`; `top` (over 0) fills a column. A value always shows, 0 too; NAN is blank. */
void graph_columns(struct page *page, int bottom, int column, int rows, enum page_style style,
		   const double *values, int count, double top);

/* Draws a bar of `width` columns, of which `share` (0 to 1) is filled. */
void graph_bar(struct page *page, int row, int column, int width, enum page_style style,
	       double share);
