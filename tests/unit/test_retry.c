/* What the outcome of a request means: remote/retry.h. */
#include "base/clock.h"
#include "remote/retry.h"
#include "tests/unit/test.h"
#include <errno.h>

/* --- outcomes --------------------------------------------------------------------------------- */

TEST(each_status_means_one_thing)
{
	for (unsigned status = 0; status < 700; status++) {
		const struct retry_rule *rule = retry_rule_of_status(status);
		bool leads = (status >= 301 && status <= 303) || status == 307 || status == 308;

		/* A range is taken, and nothing else. */
		assert_true((rule->action == RETRY_TAKE) == (status == 206));
		/* Redirects lead elsewhere, but for those of other meanings. */
		assert_true((rule->action == RETRY_ELSEWHERE) == leads);
		/* Errors of servers pass, those of requests do not. */
		if ((status >= 500 && status < 600) || status == 408 || status == 429)
			assert_int_equal(rule->action, RETRY_AGAIN);
		if (status >= 405 && status < 429 && status != 408 && status != 410)
			assert_int_equal(rule->action, RETRY_NEVER);
		/* A server with too much to do is asked less. */
		assert_true(rule->overloaded == (status == 429 || status == 503));
	}
	assert_int_equal(retry_rule_of_status(416)->error, -ESTALE);
}

TEST(what_is_final_has_an_error_and_a_reason)
{
	for (unsigned status = 0; status < 700; status++) {
		const struct retry_rule *rule = retry_rule_of_status(status);

		assert_true(rule->action == RETRY_TAKE || (rule->error < 0 && rule->why[0]));
	}
	for (unsigned end = HTTP_ANSWERED + 1; end < HTTP_ENDS; end++) {
		assert_true(retry_rule_of_end(end)->error < 0);
		assert_true(retry_rule_of_end(end)->why[0]);
	}
}

/* --- pauses ----------------------------------------------------------------------------------- */

TEST(pauses_are_between_nothing_and_a_bound_that_doubles)
{
	uint64_t bound = CLOCK_SECOND / 5;

	for (unsigned tries = 1; tries < 5; tries++, bound *= 2) {
		assert_int_equal(retry_pause(tries, false, 0, 0), 0);
		assert_int_equal(retry_pause(tries, false, 0, bound), bound);
		assert_int_equal(retry_pause(tries, false, 0, bound + 1), 0);
	}
	assert_int_equal(retry_pause(1000, false, 0, 10 * CLOCK_SECOND), 10 * CLOCK_SECOND);
	assert_int_equal(retry_pause(1000, false, 0, 10 * CLOCK_SECOND + 1), 0);
}

TEST(an_overloaded_server_gets_longer_ones_and_what_it_asked_for)
{
	assert_int_equal(retry_pause(1, true, 0, CLOCK_SECOND), CLOCK_SECOND);
	assert_int_equal(retry_pause(1, true, 7, 0), 7 * CLOCK_SECOND);
}

/* --- ranges ----------------------------------------------------------------------------------- */

#define FROM_10	      .first = 10, .len = 10
#define SUFFIX	      .suffix = true
#define KNOWN	      .total = 1000, .etag = "\"a\"", .modified = "Mon"
#define UNTAGGED(tag) .total = 1000, .etag = tag, .modified = "Mon"
#define RANGE	      "Content-Range: bytes 10-19/1000\n"

static const struct {
	const char *headers;
	struct retry_range asked;
	int result;
} ranges[] = {
	/* What was asked for is right; it ends with the object. */
	{RANGE "ETag: \"a\"\n", {FROM_10, KNOWN}, 0},
	{"Content-Range: bytes 995-999/1000\n", {.first = 995, .len = 10, KNOWN}, 0},
	/* A suffix is the end, or all of it. */
	{"Content-Range: bytes 990-999/1000\n", {.len = 10, SUFFIX, KNOWN}, 0},
	{"Content-Range: bytes 0-999/1000\n", {.len = 5000, SUFFIX, KNOWN}, 0},
	{"Content-Range: bytes 0-9/1000\n", {.len = 10, SUFFIX, KNOWN}, -EPROTO},
	/* Other ranges are wrong, and what is encoded is. */
	{"Content-Range: bytes 11-20/1000\n", {FROM_10, KNOWN}, -EPROTO},
	{"Content-Range: bytes 10-18/1000\n", {FROM_10, KNOWN}, -EPROTO},
	{"Content-Range: bytes 10-20/1000\n", {FROM_10, KNOWN}, -EPROTO},
	{"Content-Range: bytes */1000\n", {FROM_10, KNOWN}, -EPROTO},
	{"Content-Range: bytes */1000\n", {.len = 1, KNOWN}, -EPROTO},
	{"Content-Range: bytes\n", {FROM_10, KNOWN}, -EPROTO},
	{"", {FROM_10, KNOWN}, -EPROTO},
	{RANGE "Content-Encoding: gzip\n", {FROM_10, KNOWN}, -EPROTO},
	{RANGE "Content-Encoding: Identity\n", {FROM_10, KNOWN}, 0},
	/* Another tag or size is another object. */
	{RANGE "ETag: \"b\"\n", {FROM_10, KNOWN}, -ESTALE},
	{"Content-Range: bytes 10-19/1001\nETag: \"a\"\n", {FROM_10, KNOWN}, -ESTALE},
	/* A tag may be missing, unless nothing else tells. */
	{RANGE "Last-Modified: Mon\n", {FROM_10, KNOWN}, 0},
	{RANGE "Last-Modified: Mon\n", {FROM_10, KNOWN, .tagged = true}, -ESTALE},
	{RANGE "Last-Modified: Mon\n", {FROM_10, UNTAGGED(""), .tagged = true}, 0},
	{RANGE, {FROM_10, UNTAGGED(""), .tagged = true}, -ESTALE},
	/* A time counts where there is no strong tag. */
	{RANGE "Last-Modified: Tue\n", {FROM_10, KNOWN}, 0},
	{RANGE "Last-Modified: Tue\n", {FROM_10, UNTAGGED("")}, -ESTALE},
	{RANGE "Last-Modified: Tue\n", {FROM_10, UNTAGGED("W/\"a\"")}, -ESTALE},
};

TEST(a_range_is_the_one_that_was_asked_for_of_the_same_object)
{
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		struct content_range range;
		struct err err = {0};
		int r = retry_check_range(ranges[i].headers, &ranges[i].asked, &range, &err);

		print_message("%zu: %s", i, ranges[i].headers);
		assert_int_equal(r, ranges[i].result);
		assert_true(r != -EPROTO || err.text[0]);
	}
}

TEST(a_range_has_its_status_or_says_that_it_is_one)
{
	assert_true(retry_is_range(206, ""));
	assert_true(retry_is_range(200, "Content-Range: bytes 10-19/1000\n"));
	assert_false(retry_is_range(200, "Content-Length: 1000\n"));
	assert_false(retry_is_range(416, "Content-Range: bytes */1000\n"));
}
