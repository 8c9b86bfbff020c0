/* Places and round values on the axes of charts: pack/tool/report/axis.h. */
#include "pack/tool/report/axis.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The texts of the ticks, joined with a blank. */
static void expect_ticks(struct axis axis, enum axis_unit unit, double apart, const char *texts)
{
	struct axis_tick ticks[AXIS_TICKS];
	unsigned count = axis_ticks(&axis, unit, apart, ticks);
	char all[512] = "";
	size_t len = 0;

	for (unsigned i = 0; i < count; i++) {
		assert_true(ticks[i].place > -1e-6 && ticks[i].place < 1 + 1e-6);
		assert_true(i == 0 || ticks[i].place >= ticks[i - 1].place + apart);
		len += (size_t)snprintf(all + len, sizeof(all) - len, i ? " %s" : "%s",
					ticks[i].text);
	}
	assert_string_equal(all, texts);
}

static void a_place_leads_back_to_its_value(void **state)
{
	const struct axis axes[] = {axis_linear(1234), axis_log(3, 70000)};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_true(fabs(axis_place(&axes[i], axes[i].low)) < 1e-9);
		assert_true(fabs(axis_place(&axes[i], axes[i].high) - 1) < 1e-9);
		assert_true(fabs(axis_value(&axes[i], axis_place(&axes[i], 55)) - 55) < 1e-9);
	}
}

static void counts_begin_at_zero_and_end_round(void **state)
{
	(void)state;
	expect_ticks(axis_linear(1300), AXIS_NUMBERS, 0.15, "0 500 1,000 1,500");
	expect_ticks(axis_linear(260), AXIS_NUMBERS, 0.15, "0 50 100 150 200 250 300");
	expect_ticks(axis_linear(7), AXIS_NUMBERS, 0.15, "0 2 4 6 8");
	expect_ticks(axis_linear(1), AXIS_NUMBERS, 0.15, "0 1");
	expect_ticks(axis_linear(0), AXIS_NUMBERS, 0.15, "0 1");
}

static void a_log_has_as_many_ticks_as_fit(void **state)
{
	(void)state;
	expect_ticks(axis_log(100, 1600), AXIS_NUMBERS, 0.15, "100 200 500 1,000");
	expect_ticks(axis_log(10, 900), AXIS_NUMBERS, 0.15, "10 30 100 300");
	expect_ticks(axis_log(10, 400), AXIS_NUMBERS, 0.15, "10 20 50 100 200");
	expect_ticks(axis_log(10, 1500), AXIS_NUMBERS, 0.15, "10 30 100 300 1,000");
	expect_ticks(axis_log(10, 9000), AXIS_NUMBERS, 0.15, "10 30 100 300 1,000 3,000 10,000");
	expect_ticks(axis_log(10, 200000), AXIS_NUMBERS, 0.15, "10 100 1,000 10,000 100,000");
	expect_ticks(axis_log(1, 1e15), AXIS_NUMBERS, 0.15,
		     "1 10,000 100,000,000 1,000,000,000,000");
}

static void a_short_log_has_equal_steps(void **state)
{
	(void)state;
	expect_ticks(axis_log(450, 1100), AXIS_NUMBERS, 0.15, "600 800 1,000");
	expect_ticks(axis_log(28, 28), AXIS_NUMBERS, 0.15, "20 25 30 35");
	expect_ticks(axis_log(1, 1), AXIS_NUMBERS, 0.15, "1");
}

static void bytes_are_round_in_their_units(void **state)
{
	(void)state;
	expect_ticks(axis_log(2000, 700000), AXIS_BYTES, 0.15, "4 KiB 16 KiB 64 KiB 256 KiB");
	expect_ticks(axis_log(12, 60), AXIS_BYTES, 0.15, "16 bytes 32 bytes 48 bytes");
	expect_ticks(axis_log(1, 1e13), AXIS_BYTES, 0.15, "1 byte 1 KiB 1 MiB 1 GiB 1 TiB");
	expect_ticks(axis_log(1e5, 2e5), AXIS_BYTES, 0.15, "128 KiB 160 KiB 192 KiB");
}

static void ratios_are_those_that_people_know(void **state)
{
	(void)state;
	expect_ticks(axis_log(0.25, 4), AXIS_RATIOS, 0.07, "1:4 1:3 1:2 2:3 1:1 3:2 2:1 3:1 4:1");
	expect_ticks(axis_log(0.7, 1.4), AXIS_RATIOS, 0.07, "3:4 5:6 1:1 6:5 4:3");
	expect_ticks(axis_log(1, 1), AXIS_RATIOS, 0.07, "3:4 5:6 1:1 6:5 4:3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_leads_back_to_its_value),
		cmocka_unit_test(counts_begin_at_zero_and_end_round),
		cmocka_unit_test(a_log_has_as_many_ticks_as_fit),
		cmocka_unit_test(a_short_log_has_equal_steps),
		cmocka_unit_test(bytes_are_round_in_their_units),
		cmocka_unit_test(ratios_are_those_that_people_know),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
