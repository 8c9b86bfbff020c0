#include "pack/tool/report/chart.h"

#include <math.h>

#define LEFT   50 /* margins: for the texts of the ticks */
#define RIGHT  26
#define TOP    30
#define BOTTOM 42

#define APART_Y 0.16

static double x_of(double place)
{
	return LEFT + place * CHART_WIDTH;
}

static double y_of(double place)
{
	return TOP + (1 - place) * CHART_HEIGHT;
}

/* Texts of another unit are of another width. */
static double apart_of(enum axis_unit unit)
{
	switch (unit) {
	case AXIS_BYTES:
		return 0.17;
	case AXIS_NUMBERS:
		return 0.13;
	default:
		return 0.07;
	}
}

static void put_x_axis(struct html *html, const struct chart *chart)
{
	struct axis_tick ticks[AXIS_TICKS];
	unsigned count = chart->no_x_ticks ? 0
					   : axis_ticks(&chart->x, chart->x_unit,
							apart_of(chart->x_unit), ticks);

	for (unsigned i = 0; i < count; i++) {
		double x = x_of(ticks[i].place);

		html_putf(html, "<path class=\"tick\" d=\"M%.1f %.1fv4\"/>", x, y_of(0));
		html_putf(html, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>", x,
			  y_of(0) + 17, ticks[i].text);
	}
	html_putf(html, "<path class=\"axis\" d=\"M%d %.1fh%d\"/>", LEFT, y_of(0), CHART_WIDTH);
	html_putf(html, "<text class=\"name\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
		  LEFT + CHART_WIDTH, y_of(0) + 36);
	html_string(html, chart->x_name);
	html_put(html, "</text>\n");
}

static void put_y_axis(struct html *html, const struct chart *chart)
{
	struct axis_tick ticks[AXIS_TICKS];
	unsigned count = axis_ticks(&chart->y, chart->y_unit, APART_Y, ticks);

	for (unsigned i = 0; i < count; i++) {
		double y = y_of(ticks[i].place);

		html_putf(html, "<path class=\"tick\" d=\"M%d %.1fh%d\"/>", LEFT, y, CHART_WIDTH);
		html_putf(html, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>", LEFT - 6,
			  y + 4, ticks[i].text);
	}
	html_putf(html, "<text class=\"name\" x=\"%d\" y=\"%d\">", 0, TOP - 16);
	html_string(html, chart->y_name);
	html_put(html, "</text>\n");
}

void chart_begin(struct html *html, const struct chart *chart)
{
	html_putf(html,
		  "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"%s-title %s-about\">",
		  LEFT + CHART_WIDTH + RIGHT, TOP + CHART_HEIGHT + BOTTOM, chart->id, chart->id);
	html_putf(html, "<title id=\"%s-title\">", chart->id);
	html_string(html, chart->title);
	html_putf(html, "</title><desc id=\"%s-about\">", chart->id);
	html_string(html, chart->about);
	html_put(html, "</desc>\n");
	put_y_axis(html, chart);
	put_x_axis(html, chart);
}

void chart_mark(struct html *html, const struct chart_box *box, const char *css_class)
{
	double left = x_of(box->left), top = y_of(box->top);

	html_putf(html,
		  "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>",
		  css_class, left, top, fmax(x_of(box->right) - left, 0.4),
		  fmax(y_of(box->bottom) - top, 0.4));
}

void chart_mark_end(struct html *html)
{
	html_put(html, "</title></rect>\n");
}

void chart_guide(struct html *html, const struct chart_box *box, const char *word)
{
	html_putf(html, "<path class=\"guide\" d=\"M%.1f %.1fL%.1f %.1f\"/>", x_of(box->left),
		  y_of(box->bottom), x_of(box->right), y_of(box->top));
	html_putf(html, "<text class=\"guide\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">",
		  x_of(box->right) - 4, y_of(box->top) + 12);
	html_string(html, word);
	html_put(html, "</text>\n");
}

void chart_end(struct html *html)
{
	html_put(html, "</svg>\n");
}

const char *chart_density(uint64_t count, uint64_t most)
{
	static const char *const classes[CHART_DENSITIES] = {"d1", "d2", "d3", "d4", "d5", "d6"};
	double share = most > 1 ? log((double)count) / log((double)most) : 1;
	int density = (int)floor(share * CHART_DENSITIES);

	return classes[density < 0 ? 0 : density < CHART_DENSITIES ? density : CHART_DENSITIES - 1];
}
