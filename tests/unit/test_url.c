/* Parts of URLs: remote/url.h. */
#include "remote/url.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void has_parts(const char *text, const char *scheme, const char *host, const char *path,
		      const char *query)
{
	struct url url;

	print_message("%s\n", text);
	assert_int_equal(url_parse(text, &url), 0);
	assert_string_equal(url.scheme, scheme);
	assert_string_equal(url.host, host);
	assert_string_equal(url.path, path);
	assert_string_equal(url.query, query);
	url_release(&url);
}

static void a_url_has_parts(void **state)
{
	(void)state;
	has_parts("HTTPS://u:p@host:8/a//b/../c?d=e?f#g", "https", "host:8", "/a//b/../c", "d=e?f");
	has_parts("http://host", "http", "host", "/", "");
	has_parts("http://host?q", "http", "host", "/", "q");
}

/* What is signed is what libcurl sends. */
static void a_port_that_is_the_schemes_is_left_out_as_in_the_header_host(void **state)
{
	(void)state;
	has_parts("https://host:443/a", "https", "host", "/a", "");
	has_parts("http://[::1]:80/a", "http", "[::1]", "/a", "");
	has_parts("http://host:443/a", "http", "host:443", "/a", "");
	has_parts("https://host:80/a", "https", "host:80", "/a", "");
	has_parts("https://host:8443/a", "https", "host:8443", "/a", "");
}

static void what_has_no_host_is_no_url(void **state)
{
	static const char *const texts[] = {"",		  "host",    "/a",	  "://host",
					    "http:/host", "http://", "http:///a", "http://u@/a"};
	struct url url;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(url_parse(texts[i], &url), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_url_has_parts),
		cmocka_unit_test(a_port_that_is_the_schemes_is_left_out_as_in_the_header_host),
		cmocka_unit_test(what_has_no_host_is_no_url),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
