/* Draws a chart as SVG into a page: axes, ticks, and marks that the caller places.
 *
 *	chart_begin(&html, &chart);
 *	for each value:
 *		chart_mark(&html, &box, "bar");
 *		html_...                            what a pointer on it shows
 *		chart_mark_end(&html);
 *	chart_end(&html);
 *
 * Places are 0 to 1, from the lower left corner. Colours are the page's: the classes are `bar`,
 * `d1` to `d6` (dense), `guide`, `tick`, `axis`. */
#ifndef PACK_TOOL_REPORT_CHART_H
#define PACK_TOOL_REPORT_CHART_H

#include "pack/tool/report/axis.h"
#include "pack/tool/report/html.h"

/* Of the area for marks, in units that are about as large as a pixel on the screen. */
#define CHART_WIDTH  426
#define CHART_HEIGHT 252

#define CHART_DENSITIES 6

struct chart {
	const char *id;	   /* a word of its own on the page */
	const char *title; /* for those who do not see it: text, as `about`, the whole story */
	const char *about;
	struct axis x, y;
	enum axis_unit x_unit, y_unit;
	const char *x_name, *y_name;
	bool no_x_ticks;
};

struct chart_box {
	double left, right, bottom, top;
};

void chart_begin(struct html *html, const struct chart *chart);
void chart_mark(struct html *html, const struct chart_box *box, const char *css_class);
void chart_mark_end(struct html *html);
/* A thin line from one corner of the box to the other, with a word at its end. */
void chart_guide(struct html *html, const struct chart_box *box, const char *word);
void chart_end(struct html *html);

/* "d1" to "d6": how dense `count` is where `most`, at least 1, is densest, by factors. */
const char *chart_density(uint64_t count, uint64_t most);

#endif
