/* How many transfers are under way to a server, and who speaks of it: remote/http_host.h. */
#include "remote/http_host.h"
#include "tests/unit/test.h"

static int begin(void **state)
{
	*state = http_host_new("h");
	return 0;
}

static int end(void **state)
{
	free(*state);
	return 0;
}

FIXTURE_BY(host, struct http_host, begin, end);

TEST_OF(host, an_eighth_is_kept_for_what_somebody_waits_for)
{
	host->under_way = HTTP_MOST - HTTP_MOST / 8 - 1;
	assert_true(http_host_has_place(host, true));
	host->under_way++;
	assert_true(http_host_has_place(host, false) && !http_host_has_place(host, true));
	host->under_way = HTTP_MOST - 1;
	assert_true(http_host_has_place(host, false));
	host->under_way++;
	assert_false(http_host_has_place(host, false));
}

TEST_OF(host, an_overload_halves_the_limit_once_and_answers_raise_it)
{
	const unsigned half = HTTP_MOST / 4;

	host->under_way = (uint64_t)2 * half;
	for (unsigned i = 0; i < 20; i++)
		http_host_slow_down(host);
	assert_int_equal(host->limit, half);
	for (unsigned i = 0; i < half + half + 1; i++)
		http_host_speed_up(host);
	assert_int_equal(host->limit, half + 2);
	for (unsigned i = 0; i < 20; i++) {
		host->slowed = 0;
		http_host_slow_down(host);
	}
	assert_int_equal(host->limit, 4);
}

static void round_of(struct http_host *host, unsigned answers, unsigned closed)
{
	for (unsigned i = 0; i < answers; i++)
		http_host_speed_up(host);
	for (unsigned i = 0; i < closed; i++)
		http_host_closed(host);
}

TEST_OF(host, connections_that_are_closed_lower_the_limit)
{
	host->under_way = HTTP_MOST;
	round_of(host, 1, HTTP_MOST / 8 - 1);
	assert_int_equal(host->limit, HTTP_MOST);
	http_host_closed(host);
	assert_int_equal(host->limit, HTTP_MOST / 2);
	host->slowed = 0;
	round_of(host, 1, HTTP_MOST / 16 + 1);
	assert_int_equal(host->limit, HTTP_MOST / 4);
}

TEST_OF(host, single_connections_that_break_do_not)
{
	host->under_way = host->limit = HTTP_MOST / 2;
	for (unsigned i = 0; i < 1000; i++)
		round_of(host, 20, 1);
	assert_true(host->limit > HTTP_MOST / 2 + HTTP_MOST / 8);
}

/* After it, the server can take as much as before. */
TEST_OF(host, an_outage_halves_the_limit_once)
{
	host->under_way = HTTP_MOST;
	round_of(host, HTTP_MOST / 4, 0);
	for (unsigned i = 0; i < 1000; i++) {
		host->slowed = 0;
		http_host_closed(host);
	}
	assert_int_equal(host->limit, HTTP_MOST / 2);
	round_of(host, HTTP_MOST / 4, 1);
	assert_int_equal(host->limit, HTTP_MOST / 2);
}

TEST_OF(host, one_client_speaks_for_all_of_a_server)
{
	const struct http_client *one = (void *)"one", *other = (void *)"other";

	assert_true(http_host_speak(host, one));
	assert_true(http_host_speak(host, one));
	assert_false(http_host_speak(host, other));
	http_host_hush(host, other);
	assert_false(http_host_speak(host, other));
	http_host_hush(host, one);
	assert_true(http_host_speak(host, other));
	host->spoke -= 61 * UINT64_C(1000000000);
	assert_true(http_host_speak(host, one));
}
