#include "pack/tool/report/axis.h"

#include "base/size.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM	  0.02 /* at either end of a log, of its length */
#define LEAST_LOG 0.5  /* a log is no shorter, in octaves to either side */
#define STEEP	  8.0  /* a log over less than this factor has ticks in equal steps */

/* The least of 1, 2, 5, 10, 20 ... that is not less than value. */
static double round_up(double value)
{
	double power = pow(10, floor(log10(value) + 1e-9));

	if (value <= power * 1.000001)
		return power;
	return value <= 2 * power ? 2 * power : value <= 5 * power ? 5 * power : 10 * power;
}

struct axis axis_linear(double most)
{
	double step = most >= 5 ? round_up(most / 5) : 1;
	double high = step * ceil(most / step - 1e-9);

	return (struct axis){.low = 0, .high = high > 0 ? high : 1};
}

struct axis axis_log(double least, double most)
{
	double low = log2(least), high = log2(most), room = (high - low) * ROOM;

	if (high - low < 2 * LEAST_LOG) {
		room = LEAST_LOG;
		low = high = (low + high) / 2;
	}
	return (struct axis){.log = true, .low = exp2(low - room), .high = exp2(high + room)};
}

double axis_place(const struct axis *axis, double value)
{
	if (axis->log)
		return log(value / axis->low) / log(axis->high / axis->low);
	return (value - axis->low) / (axis->high - axis->low);
}

double axis_value(const struct axis *axis, double place)
{
	if (axis->log)
		return axis->low * pow(axis->high / axis->low, place);
	return axis->low + place * (axis->high - axis->low);
}

/* --- ticks ------------------------------------------------------------------------------ */

struct ticks {
	const struct axis *axis;
	enum axis_unit unit;
	double apart;
	unsigned count;
	struct axis_tick *list;
};

static void add_text(struct ticks *ticks, double place, const char *text)
{
	if (ticks->count == AXIS_TICKS)
		return;
	ticks->list[ticks->count].place = place;
	snprintf(ticks->list[ticks->count].text, sizeof(ticks->list->text), "%s", text);
	ticks->count++;
}

static void add(struct ticks *ticks, double value)
{
	uint64_t whole = (uint64_t)llround(value);
	char text[SIZE_TEXT];

	add_text(ticks, axis_place(ticks->axis, value),
		 ticks->unit == AXIS_BYTES ? size_format(whole, text) : count_format(whole, text));
}

/* The least round step that is not less than `step`. */
static double round_step(const struct ticks *ticks, double step)
{
	if (step < 1)
		return 1;
	return ticks->unit == AXIS_BYTES ? exp2(ceil(log2(step) - 1e-9)) : round_up(step);
}

/* On a log the steps are narrowest at its end. */
static void add_steps(struct ticks *ticks)
{
	const struct axis *axis = ticks->axis;
	double step = round_step(ticks, (axis->high - axis->low) * ticks->apart);

	while (step < axis->high - axis->low &&
	       axis_place(axis, axis->high - step) > 1 - ticks->apart)
		step = round_step(ticks, step * 1.5);
	for (double value = step * ceil(axis->low / step - 1e-9); value <= axis->high * 1.000001;
	     value += step)
		add(ticks, value);
}

#define LEVELS 6

/* times x base^n, for each n that is a multiple of `stride`. */
struct level {
	double base;
	int stride;
	unsigned char times[3]; /* 0: no more */
};

/* Whether the values of a level on the axis are as far apart as they must; they are added
 * where told. */
static bool walk(struct ticks *ticks, const struct level *level, bool tell)
{
	const struct axis *axis = ticks->axis;
	double step = pow(level->base, level->stride), before = -1;
	bool fits = true;

	for (double power = pow(step, floor(log(axis->low) / log(step))); power <= axis->high;
	     power *= step) {
		for (unsigned i = 0; i < sizeof(level->times) && level->times[i]; i++) {
			double value = power * level->times[i], place = axis_place(axis, value);

			if (value < 1 || place < 0 || place > 1)
				continue;
			fits = fits && place - before >= ticks->apart;
			before = place;
			if (tell)
				add(ticks, value);
		}
	}
	return fits;
}

/* The densest level that is not too dense. */
static void add_powers(struct ticks *ticks)
{
	static const struct level numbers[LEVELS] = {{10, 1, {1, 2, 5}}, {10, 1, {1, 3}},
						     {10, 1, {1}},	 {10, 2, {1}},
						     {10, 4, {1}},	 {10, 8, {1}}};
	static const struct level bytes[LEVELS] = {{2, 1, {1}}, {2, 2, {1}},  {2, 3, {1}},
						   {2, 5, {1}}, {2, 10, {1}}, {2, 20, {1}}};
	const struct level *level = ticks->unit == AXIS_BYTES ? bytes : numbers;

	for (unsigned i = 1; i < LEVELS && !walk(ticks, level, false); i++)
		level++;
	walk(ticks, level, true);
}

static bool is_free(const struct ticks *ticks, double place)
{
	for (unsigned i = 0; i < ticks->count; i++)
		if (fabs(ticks->list[i].place - place) < ticks->apart)
			return false;
	return true;
}

/* The usual ones, the best known first: what is too close to one that is there stays away. */
static void add_ratios(struct ticks *ticks)
{
	static const unsigned char usual[][2] = {{1, 1}, {2, 1}, {1, 2}, {3, 2}, {2, 3},
						 {4, 1}, {1, 4}, {4, 3}, {3, 4}, {8, 1},
						 {1, 8}, {3, 1}, {1, 3}, {6, 5}, {5, 6}};
	char text[16];

	for (unsigned i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		double place = axis_place(ticks->axis, (double)usual[i][0] / usual[i][1]);

		snprintf(text, sizeof(text), "%u:%u", usual[i][0], usual[i][1]);
		if (place >= 0 && place <= 1 && is_free(ticks, place))
			add_text(ticks, place, text);
	}
}

static int compare(const void *a, const void *b)
{
	const struct axis_tick *x = a, *y = b;

	return (x->place > y->place) - (x->place < y->place);
}

unsigned axis_ticks(const struct axis *axis, enum axis_unit unit, double apart,
		    struct axis_tick ret[static AXIS_TICKS])
{
	struct ticks ticks = {.axis = axis, .unit = unit, .apart = apart, .list = ret};

	if (unit == AXIS_RATIOS)
		add_ratios(&ticks);
	else if (axis->log && axis->high / axis->low > STEEP)
		add_powers(&ticks);
	else
		add_steps(&ticks);
	qsort(ret, ticks.count, sizeof(*ret), compare);
	return ticks.count;
}
