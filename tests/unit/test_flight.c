/* How many reads should be under way: cache/plan/flight.h, on simulated links. */
#include "cache/plan/flight.h"
#include "tests/unit/far_link.h"
#include "tests/unit/test.h"
#include <stdint.h>

#define GBIT  125e6
#define PHOTO 110e3

struct world {
	struct far_link link;
	struct flight flight;
	double size;   /* of a read */
	unsigned most; /* reads under way that readers need */
	unsigned under_way;
};

static struct world *world_of(double latency, double bandwidth, double size)
{
	static struct world w;

	w = (struct world){
		.link = {.latency = latency, .rate = 50e6, .bandwidth = bandwidth, .jitter = 0.3},
		.size = size,
		.most = FLIGHT_MAX};
	flight_init(&w.flight);
	return &w;
}

static void fly(struct world *w, double seconds)
{
	double until = w->link.now + seconds;
	struct transfer done;

	do {
		while (w->under_way < flight_depth(&w->flight) && w->under_way < w->most) {
			link_ask(&w->link, w->size, NULL);
			w->under_way++;
		}
		if (!link_next(&w->link, until, &done))
			return;
		flight_read(&w->flight, (uint64_t)done.bytes, (uint64_t)(done.begun * 1e9),
			    (uint64_t)(w->link.now * 1e9), w->under_way);
		w->under_way--;
	} while (w->link.now < until);
}

/* Bytes a second from now on. */
static double rate_of(struct world *w, double seconds)
{
	double before = w->link.bytes;

	fly(w, seconds);
	return (w->link.bytes - before) / seconds;
}

TEST(a_link_of_10_gbit_is_filled_within_a_second)
{
	const double latencies[] = {0.01, 0.03}, sizes[] = {PHOTO, 1e6, 4e6};

	for (unsigned i = 0; i < 6; i++) {
		struct world *w = world_of(latencies[i % 2], 10 * GBIT, sizes[i / 2]);
		double rate;

		fly(w, 1.5);
		rate = rate_of(w, 4);
		print_message("%.0f ms, %.0f KB: %u under way bring %.2f of the link\n",
			      w->link.latency * 1e3, w->size / 1e3, flight_depth(&w->flight),
			      rate / w->link.bandwidth);
		assert_true(rate > 0.85 * w->link.bandwidth);
	}
}

TEST(no_more_are_under_way_than_a_slow_link_needs)
{
	struct world *w = world_of(0.03, GBIT, PHOTO);

	fly(w, 20);
	print_message("%u under way\n", flight_depth(&w->flight));
	assert_true(rate_of(w, 5) > 0.9 * w->link.bandwidth);
	assert_in_range(flight_depth(&w->flight), 24, 100); /* 37 fill it */
}

TEST(latency_that_varies_does_not_mislead)
{
	struct world *w = world_of(0.02, 4 * GBIT, PHOTO);
	double rate;

	w->link.jitter = 1.8;
	fly(w, 2);
	rate = rate_of(w, 30);
	print_message("%u under way bring %.2f of the link\n", flight_depth(&w->flight),
		      rate / w->link.bandwidth);
	assert_true(rate > 0.85 * w->link.bandwidth);
}

TEST(slow_readers_change_nothing)
{
	struct world *w = world_of(0.03, 10 * GBIT, PHOTO);

	w->most = 5;
	fly(w, 10);
	assert_int_equal(flight_depth(&w->flight), FLIGHT_START);
	w->most = FLIGHT_MAX;
	fly(w, 1.5);
	assert_true(rate_of(w, 2) > 0.85 * w->link.bandwidth);
}

TEST(a_link_that_gets_faster_is_found_out)
{
	struct world *w = world_of(0.03, GBIT, PHOTO);

	fly(w, 20);
	w->link.bandwidth = 10 * GBIT;
	fly(w, 10);
	assert_true(rate_of(w, 2) > 0.85 * w->link.bandwidth);
}

TEST(a_link_that_gets_slower_has_fewer_under_way_in_the_end)
{
	struct world *w = world_of(0.03, 10 * GBIT, PHOTO);

	fly(w, 5);
	assert_in_range(flight_depth(&w->flight), 300, FLIGHT_MAX);
	w->link.bandwidth = GBIT;
	fly(w, 60);
	print_message("%u under way\n", flight_depth(&w->flight));
	assert_in_range(flight_depth(&w->flight), 24, 100);
	assert_true(rate_of(w, 5) > 0.9 * w->link.bandwidth);
}

TEST(reads_of_another_size_need_another_depth)
{
	struct world *w = world_of(0.03, 10 * GBIT, 4e6);
	unsigned large, small;

	fly(w, 3);
	large = flight_depth(&w->flight);
	w->size = PHOTO;
	fly(w, 1.5);
	small = flight_depth(&w->flight);
	assert_true(rate_of(w, 2) > 0.85 * w->link.bandwidth);
	w->size = 4e6;
	fly(w, 6);
	print_message("%u large ones, %u small, %u large\n", large, small,
		      flight_depth(&w->flight));
	assert_true(flight_depth(&w->flight) < 150);
	assert_true(rate_of(w, 4) > 0.85 * w->link.bandwidth);
}

/* 32 a round, of 10 ms each, and as many under way. */
TEST(a_round_says_what_a_read_is_and_what_comes_during_the_slowest)
{
	struct flight flight;

	flight_init(&flight);
	assert_int_equal(flight_mean(&flight).ns, 0);
	assert_int_equal(flight_stall(&flight), 0);
	for (uint64_t i = 1; i <= FLIGHT_START; i++)
		flight_read(&flight, 1000, i * 2000000, i * 2000000 + 10000000, FLIGHT_START);
	assert_int_equal(flight_mean(&flight).bytes, 1000);
	assert_int_equal(flight_mean(&flight).ns, 10000000);
	assert_in_range(flight_stall(&flight), FLIGHT_START * 1000 - 1, FLIGHT_START * 1000 + 1);
}
