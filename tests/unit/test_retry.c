/* What the outcome of a request means: remote/retry.h. */
#include "base/clock.h"
#include "remote/retry.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <string.h>

/* --- outcomes --------------------------------------------------------------------------------- */

TEST(a_range_is_taken_and_nothing_else)
{
	for (unsigned status = 0; status < 700; status++)
		assert_true((retry_rule_of_status(status)->action == RETRY_TAKE) ==
			    (status == 206));
}

TEST(errors_of_servers_pass_those_of_requests_do_not)
{
	for (unsigned status = 500; status < 600; status++)
		assert_int_equal(retry_rule_of_status(status)->action, RETRY_AGAIN);
	for (unsigned status = 405; status < 429; status++)
		assert_true(status == 408 || status == 410 ||
			    retry_rule_of_status(status)->action == RETRY_NEVER);
}

TEST(redirects_lead_elsewhere_but_for_those_of_other_meanings)
{
	for (unsigned status = 300; status < 400; status++) {
		bool leads = (status >= 301 && status <= 303) || status == 307 || status == 308;

		assert_int_equal(retry_rule_of_status(status)->action,
				 leads ? RETRY_ELSEWHERE : RETRY_NEVER);
	}
}

TEST(a_server_with_too_much_to_do_is_asked_less)
{
	for (unsigned status = 100; status < 600; status++)
		assert_true(retry_rule_of_status(status)->overloaded ==
			    (status == 429 || status == 503));
}

TEST(a_replaced_object_is_stale)
{
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

#define KNOWN .total = 1000, .etag = "\"a\"", .modified = "Mon"

static int check(const char *headers, struct retry_range asked)
{
	struct content_range range;
	struct err err = {0};
	int r = retry_check_range(headers, &asked, &range, &err);

	assert_true(r != -EPROTO || err.text[0]);
	return r;
}

TEST(the_range_that_was_asked_for_is_right)
{
	assert_int_equal(check("Content-Range: bytes 10-19/1000\nETag: \"a\"\n",
			       (struct retry_range){.first = 10, .len = 10, KNOWN}),
			 0);
	/* It ends with the object. */
	assert_int_equal(check("Content-Range: bytes 995-999/1000\n",
			       (struct retry_range){.first = 995, .len = 10, KNOWN}),
			 0);
}

TEST(a_suffix_is_the_end_or_all_of_it)
{
	assert_int_equal(check("Content-Range: bytes 990-999/1000\n",
			       (struct retry_range){.len = 10, .suffix = true, KNOWN}),
			 0);
	assert_int_equal(check("Content-Range: bytes 0-999/1000\n",
			       (struct retry_range){.len = 5000, .suffix = true, KNOWN}),
			 0);
	assert_int_equal(check("Content-Range: bytes 0-9/1000\n",
			       (struct retry_range){.len = 10, .suffix = true, KNOWN}),
			 -EPROTO);
}

TEST(other_ranges_are_wrong)
{
	static const char *const wrong[] = {"bytes 11-20/1000", "bytes 10-18/1000",
					    "bytes 10-20/1000", "bytes */1000", "bytes"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char headers[64] = "Content-Range: ";

		memcpy(headers + strlen(headers), wrong[i], strlen(wrong[i]) + 1);
		assert_int_equal(
			check(headers, (struct retry_range){.first = 10, .len = 10, KNOWN}),
			-EPROTO);
	}
	assert_int_equal(check("", (struct retry_range){.first = 10, .len = 10, KNOWN}), -EPROTO);
	assert_int_equal(
		check("Content-Range: bytes */1000\n", (struct retry_range){.len = 1, KNOWN}),
		-EPROTO);
}

TEST(what_is_encoded_is_wrong)
{
	assert_int_equal(check("Content-Range: bytes 10-19/1000\nContent-Encoding: gzip\n",
			       (struct retry_range){.first = 10, .len = 10, KNOWN}),
			 -EPROTO);
	assert_int_equal(check("Content-Range: bytes 10-19/1000\nContent-Encoding: Identity\n",
			       (struct retry_range){.first = 10, .len = 10, KNOWN}),
			 0);
}

TEST(another_tag_or_size_is_another_object)
{
	assert_int_equal(check("Content-Range: bytes 10-19/1000\nETag: \"b\"\n",
			       (struct retry_range){.first = 10, .len = 10, KNOWN}),
			 -ESTALE);
	assert_int_equal(check("Content-Range: bytes 10-19/1001\nETag: \"a\"\n",
			       (struct retry_range){.first = 10, .len = 10, KNOWN}),
			 -ESTALE);
}

TEST(a_tag_may_be_missing_unless_nothing_else_tells)
{
	const char *headers = "Content-Range: bytes 10-19/1000\nLast-Modified: Mon\n";
	struct retry_range asked = {.first = 10, .len = 10, KNOWN};

	assert_int_equal(check(headers, asked), 0);
	asked.tagged = true;
	assert_int_equal(check(headers, asked), -ESTALE);
	asked.etag = "";
	assert_int_equal(check(headers, asked), 0);
	assert_int_equal(check("Content-Range: bytes 10-19/1000\n", asked), -ESTALE);
}

TEST(a_range_has_its_status_or_says_that_it_is_one)
{
	assert_true(retry_is_range(206, ""));
	assert_true(retry_is_range(200, "Content-Range: bytes 10-19/1000\n"));
	assert_false(retry_is_range(200, "Content-Length: 1000\n"));
	assert_false(retry_is_range(416, "Content-Range: bytes */1000\n"));
}

TEST(a_time_counts_where_there_is_no_strong_tag)
{
	const char *headers = "Content-Range: bytes 10-19/1000\nLast-Modified: Tue\n";
	struct retry_range asked = {.first = 10, .len = 10, KNOWN};

	assert_int_equal(check(headers, asked), 0);
	asked.etag = "";
	assert_int_equal(check(headers, asked), -ESTALE);
	asked.etag = "W/\"a\"";
	assert_int_equal(check(headers, asked), -ESTALE);
}
