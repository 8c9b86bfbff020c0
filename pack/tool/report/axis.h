/* An axis of a chart: values to places on it, and the round values that are written at it. */
#ifndef PACK_TOOL_REPORT_AXIS_H
#define PACK_TOOL_REPORT_AXIS_H

#include <stdbool.h>

struct axis {
	bool log;
	double low, high; /* the values at places 0 and 1; low < high, and low > 0 where log */
};

/* From 0 to a round value that is not less than `most`. */
struct axis axis_linear(double most);
/* From `least` to `most`, both > 0, by factors, and a little more. */
struct axis axis_log(double least, double most);

/* 0 to 1 for what is on the axis. */
double axis_place(const struct axis *axis, double value);
double axis_value(const struct axis *axis, double place);

#define AXIS_TICKS 16

struct axis_tick {
	double place;
	char text[32];
};

enum axis_unit {
	AXIS_NUMBERS, /* 1, 2, 5, 10; 1,000 */
	AXIS_BYTES,   /* 64 KiB */
	AXIS_RATIOS,  /* of width to height: 4:3; the axis is a log */
};

/* Ticks, rising, that are at least `apart` of the axis from each other, 0.07 or more: so that their
 * texts do not touch. Returns how many: none where there is no round value. */
unsigned axis_ticks(const struct axis *axis, enum axis_unit unit, double apart,
		    struct axis_tick ret[static AXIS_TICKS]);

#endif
