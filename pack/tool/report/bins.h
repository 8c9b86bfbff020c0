/* Counts values by where they lie on an axis: in bars, or in the cells of a plane. The memory is
 * the same for any number of values. */
#ifndef PACK_TOOL_REPORT_BINS_H
#define PACK_TOOL_REPORT_BINS_H

#include "pack/tool/report/axis.h"
#include <stdint.h>

#define BINS_MOST 48
#define BINS_X	  71 /* cells that are squares of 6 in a chart */
#define BINS_Y	  42

struct bins {
	struct axis axis;
	unsigned count;
	uint64_t bars[BINS_MOST];
	uint64_t most; /* in one bar */
};

struct bin_plane {
	struct axis x, y;
	uint64_t cells[BINS_Y][BINS_X];
	uint64_t most; /* in one cell */
};

/* As many bars as `values`, which will be added, can fill. */
void bins_begin(struct bins *bins, const struct axis *axis, uint64_t values);
/* What is not on the axis counts at its end. */
void bins_add(struct bins *bins, double value);

void bin_plane_begin(struct bin_plane *plane, const struct axis *x, const struct axis *y);
void bin_plane_add(struct bin_plane *plane, double x, double y);

/* The whole numbers that fall into bar `number` of `count` on an axis: *ret_least to *ret_most;
 * false where there are none. */
bool bins_range(const struct axis *axis, unsigned count, unsigned number, uint64_t *ret_least,
		uint64_t *ret_most);

#endif
