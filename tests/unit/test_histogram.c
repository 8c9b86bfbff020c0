/* How long things took: base/histogram.h. */
#include "base/histogram.h"
#include "tests/unit/test.h"
#include <pthread.h>

#define PRECISION 0.19

static void assert_near(uint64_t value, double expected)
{
	if ((double)value < expected * (1 - PRECISION) ||
	    (double)value > expected * (1 + PRECISION))
		fail_msg("%llu is not within 19 %% of %.1f", (unsigned long long)value, expected);
}

TEST(small_values_are_exact)
{
	assert_int_equal(histogram_quantile(&(struct histogram){0}, 0.5), 0);
	for (uint64_t value = 0; value < 8; value++) {
		struct histogram h = {0};

		histogram_add(&h, value);
		assert_int_equal(histogram_quantile(&h, 0.5), value);
		assert_int_equal(histogram_quantile(&h, 1), value);
	}
}

TEST(any_single_value_is_right_within_19_percent)
{
	for (uint64_t octave = 8; octave <= (uint64_t)1 << 40; octave *= 2) {
		for (uint64_t part = 0; part < 64; part++) {
			struct histogram h = {0};
			uint64_t value = octave + octave * part / 64;

			histogram_add(&h, value);
			assert_near(histogram_quantile(&h, 0.5), (double)value);
		}
	}
}

TEST(values_beyond_all_buckets_count_in_the_last)
{
	struct histogram h = {0};

	histogram_add(&h, UINT64_MAX / 2);
	histogram_add(&h, (uint64_t)1 << 50);
	histogram_add(&h, 1);
	assert_int_equal(histogram_count(&h), 3);
	assert_true(histogram_quantile(&h, 0.99) >= (uint64_t)1 << 40);
	assert_int_equal(histogram_quantile(&h, 0.3), 1);
}

TEST(quantiles_of_many_are_right_within_19_percent)
{
	struct histogram h = {0};

	for (uint64_t i = 1; i <= 100000; i++)
		histogram_add(&h, i);
	assert_int_equal(histogram_count(&h), 100000);
	assert_int_equal(h.total, (uint64_t)100000 * 100001 / 2);
	for (int percent = 1; percent <= 100; percent++)
		assert_near(histogram_quantile(&h, percent / 100.0), 1000.0 * percent);
	assert_near(histogram_quantile(&h, 0.999), 99900);
}

enum { ADDS = 20000, ADDERS = 4 };

static void *adder(void *arg)
{
	for (uint64_t i = 0; i < ADDS; i++)
		histogram_add(arg, i);
	return NULL;
}

TEST(many_threads_lose_no_count)
{
	struct histogram h = {0};
	pthread_t ids[ADDERS];

	for (int i = 0; i < ADDERS; i++)
		assert_int_equal(pthread_create(&ids[i], NULL, adder, &h), 0);
	for (int i = 0; i < ADDERS; i++)
		pthread_join(ids[i], NULL);
	assert_int_equal(histogram_count(&h), ADDERS * ADDS);
	assert_int_equal(h.total, (uint64_t)ADDERS * ADDS * (ADDS - 1) / 2);
}
