/* Counting by places on an axis: pack/tool/report/bins.h. */
#include "pack/tool/report/bins.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void every_value_is_counted_once(void **state)
{
	const struct axis axis = axis_log(10, 10000);
	struct bins bins;
	uint64_t total = 0;

	(void)state;
	bins_begin(&bins, &axis, 1000);
	for (unsigned value = 10; value <= 10000; value += 10)
		bins_add(&bins, value);
	for (unsigned i = 0; i < bins.count; i++)
		total += bins.bars[i];
	assert_int_equal(total, 1000);
}

static void few_values_have_few_bars(void **state)
{
	const struct axis axis = axis_log(1, 100);
	struct bins bins;

	(void)state;
	bins_begin(&bins, &axis, 1);
	assert_int_equal(bins.count, 8);
	bins_begin(&bins, &axis, 100);
	assert_int_equal(bins.count, 20);
	bins_begin(&bins, &axis, 1281167);
	assert_int_equal(bins.count, BINS_MOST);
}

static void the_highest_bar_is_known(void **state)
{
	const struct axis axis = axis_log(1, 1000);
	struct bins bins;

	(void)state;
	bins_begin(&bins, &axis, 100);
	assert_int_equal(bins.most, 0);
	bins_add(&bins, 500);
	bins_add(&bins, 2);
	bins_add(&bins, 2);
	assert_int_equal(bins.most, 2);
}

static void what_is_beyond_the_axis_counts_at_its_end(void **state)
{
	const struct axis axis = axis_log(10, 100);
	struct bins bins;

	(void)state;
	bins_begin(&bins, &axis, 1);
	bins_add(&bins, 1);
	bins_add(&bins, 1e9);
	assert_int_equal(bins.bars[0], 1);
	assert_int_equal(bins.bars[bins.count - 1], 1);
}

static void cells_count_pairs(void **state)
{
	const struct axis axis = axis_log(10, 1000);
	static struct bin_plane plane;

	(void)state;
	bin_plane_begin(&plane, &axis, &axis);
	bin_plane_add(&plane, 10, 1000);
	bin_plane_add(&plane, 10, 1000);
	bin_plane_add(&plane, 1000, 10);
	assert_int_equal(plane.most, 2);
	assert_int_equal(plane.cells[BINS_Y - 1][0] + plane.cells[BINS_Y - 1][1], 2);
}

/* Bar by bar, each whole number once. */
static void ranges_tell_which_numbers_a_bar_has(void **state)
{
	const struct axis axis = axis_log(5, 3000);
	uint64_t next = 5, least = 0, most = 0;

	(void)state;
	for (unsigned i = 0; i < BINS_MOST; i++) {
		if (!bins_range(&axis, BINS_MOST, i, &least, &most))
			continue;
		assert_int_equal(least, next);
		assert_true(most >= least);
		next = most + 1;
	}
	assert_true(most >= 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value_is_counted_once),
		cmocka_unit_test(few_values_have_few_bars),
		cmocka_unit_test(the_highest_bar_is_known),
		cmocka_unit_test(what_is_beyond_the_axis_counts_at_its_end),
		cmocka_unit_test(cells_count_pairs),
		cmocka_unit_test(ranges_tell_which_numbers_a_bar_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
