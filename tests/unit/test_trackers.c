/* Where the readers of known orders are, as the planner sees it: cache/trackers.h; and the way of
 * what is seen to the oracle: cache/seen.h. */
#include "cache/seen.h"
#include "cache/trackers.h"
#include "tests/unit/test.h"
#include <stdlib.h>

#define COUNT 4000u

/* File i is at place i. */
static struct forecast *new_forecast(void)
{
	uint32_t *files = malloc(COUNT * sizeof(*files));
	struct forecast *forecast;

	for (uint32_t i = 0; i < COUNT; i++)
		files[i] = i;
	assert_int_equal(forecast_new(files, COUNT, NULL, &forecast), 0);
	return forecast;
}

static bool first_of(void *arg, uint32_t file)
{
	*(uint32_t *)arg = file;
	return false;
}

static uint32_t next_of(const struct forecast *forecast)
{
	uint32_t next = COUNT;

	forecast_coming(forecast, first_of, &next);
	return next;
}

TEST(a_copy_is_where_its_origin_was_and_goes_its_own_way)
{
	struct forecast *origin = new_forecast(), *copy;

	for (uint32_t file = 0; file < 100; file++)
		forecast_saw(origin, file);
	assert_int_equal(forecast_copy(origin, &copy), 0);
	assert_int_equal(forecast_position(copy), 100);
	for (uint32_t file = 100; file < 200; file++)
		forecast_went_on(copy, file);
	assert_int_equal(forecast_position(copy), 200);
	assert_int_equal(forecast_position(origin), 100);
	forecast_free(origin); /* the order is the copy's, too */
	assert_int_equal(next_of(copy), 200);
	forecast_free(copy);
}

struct taken {
	unsigned count;
	uint32_t last;
};

static bool note_taken(void *arg, uint32_t file)
{
	struct taken *taken = arg;

	assert_true(taken->count == 0 || file == taken->last + 1);
	taken->count++;
	taken->last = file;
	return true;
}

/* Readers that leave out each tenth. */
TEST(what_was_passed_some_demands_ago_is_told_once)
{
	struct trackers trackers = {0};
	struct taken taken = {0};
	struct forecast *forecast = new_forecast();

	trackers_add(&trackers, state, forecast);
	for (uint32_t file = 0; file < 2000; file++) {
		if (file % 10)
			trackers_saw(&trackers, file);
		trackers_passed(&trackers, note_taken, &taken);
		assert_true(taken.count <= file);
	}
	assert_in_range(taken.count, 1200, 1800);
	forecast_free(trackers_remove(&trackers, state));
}

TEST(what_another_order_has_too_is_not_told)
{
	struct trackers trackers = {0};
	struct taken taken = {0};
	struct forecast *one = new_forecast(), *other = new_forecast();

	trackers_add(&trackers, &one, one);
	trackers_add(&trackers, &other, other);
	for (uint32_t file = 0; file < 2000; file++) {
		trackers_saw(&trackers, file);
		trackers_passed(&trackers, note_taken, &taken);
	}
	assert_int_equal(taken.count, 0);
	forecast_free(trackers_remove(&trackers, &one));
	forecast_free(trackers_remove(&trackers, &other));
}

TEST(who_leaves_it_to_others_never_loses_a_forecast)
{
	struct forecast *judged = new_forecast(), *followed = new_forecast();
	uint32_t random = 1;

	for (unsigned i = 0; i < 200; i++) {
		random = random * 1664525u + 1013904223u;
		forecast_saw(judged, (random >> 8) % COUNT);
		forecast_went_on(followed, (random >> 8) % COUNT);
	}
	assert_true(forecast_lost(judged));
	assert_false(forecast_lost(followed));
	forecast_free(judged);
	forecast_free(followed);
}

TEST(of_two_orders_the_one_that_is_read_goes_on)
{
	struct trackers trackers = {0};
	struct forecast *a = new_forecast(), *b = new_forecast();
	uint32_t file = 0, next;

	trackers_add(&trackers, &a, a);
	for (; file < 100; file++)
		trackers_saw(&trackers, file);
	trackers_add(&trackers, &b, b);
	for (; file < 200; file++)
		trackers_saw(&trackers, file);
	assert_int_equal(forecast_position(a), 200);
	assert_int_equal(forecast_position(b), 0);
	assert_true(trackers_may_push(&trackers));
	trackers_to_push(&trackers, first_of, &next);
	assert_int_equal(next, 200);
	trackers_pushed(&trackers, 200);
	trackers_to_push(&trackers, first_of, &next);
	assert_int_equal(next, 201);
	assert_null(trackers_remove(&trackers, "another"));
	assert_ptr_equal(trackers_remove(&trackers, &a), a);
	assert_false(trackers_may_push(&trackers)); /* nobody has begun with b */
	forecast_free(a);
	forecast_free(trackers_remove(&trackers, &b));
	assert_int_equal(trackers.count, 0);
}

TEST(what_finds_the_ring_full_is_dropped_and_counted)
{
	static struct seen seen;
	struct seen_event events[10];

	for (uint32_t i = 0; i < SEEN_EVENTS + 3; i++)
		seen_add(&seen, (struct seen_event){.file = i});
	assert_int_equal(seen.dropped, 3);
	assert_int_equal(seen_read(&seen, SEEN_EVENTS - 4, events, 10), 4);
	assert_int_equal(events[3].file, SEEN_EVENTS - 1);
	seen_release(&seen, 5);
	for (uint32_t i = 0; i < 5; i++)
		seen_add(&seen, (struct seen_event){.file = 100000 + i});
	assert_int_equal(seen.dropped, 3);
	assert_int_equal(seen_read(&seen, 5, events, 2), 2);
	assert_int_equal(events[0].file, 5);
	assert_int_equal(seen_read(&seen, SEEN_EVENTS, events, 10), 5);
	assert_int_equal(events[4].file, 100004);
	assert_int_equal(seen_read(&seen, seen.end, events, 10), 0);
}
