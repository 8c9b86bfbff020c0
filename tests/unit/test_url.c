/* Parts of URLs: remote/url.h. */
#include "base/scope.h"
#include "remote/url.h"
#include "tests/unit/test.h"
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

TEST(a_url_has_parts)
{
	has_parts("HTTPS://u:p@host:8/a//b/../c?d=e?f#g", "https", "host:8", "/a//b/../c", "d=e?f");
	has_parts("http://host", "http", "host", "/", "");
	has_parts("http://host?q", "http", "host", "/", "q");
}

/* What is signed is what libcurl sends. */
TEST(a_port_that_is_the_schemes_is_left_out_as_in_the_header_host)
{
	has_parts("https://host:443/a", "https", "host", "/a", "");
	has_parts("http://[::1]:80/a", "http", "[::1]", "/a", "");
	has_parts("http://host:443/a", "http", "host:443", "/a", "");
	has_parts("https://host:80/a", "https", "host:80", "/a", "");
	has_parts("https://host:8443/a", "https", "host:8443", "/a", "");
}

static void has_place(const char *text, const char *expected)
{
	SCOPE_FREE char *place = NULL;

	assert_int_equal(url_place(text, &place), 0);
	assert_string_equal(place, expected);
}

TEST(a_place_is_the_same_for_all_users_and_links)
{
	has_place("HTTPS://ali:sesame@Host:443/A//b?X-Amz-Signature=5#x", "https://host/A//b");
	has_place("https://host/A//b", "https://host/A//b");
	has_place("http://host:443", "http://host:443/");
}

TEST(what_has_no_host_is_no_url)
{
	static const char *const texts[] = {"",		  "host",    "/a",	  "://host",
					    "http:/host", "http://", "http:///a", "http://u@/a"};
	struct url url;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(url_parse(texts[i], &url), -EINVAL);
}

TEST(what_parsers_read_differently_is_no_url)
{
	static const char *const texts[] = {
		"http://a@b@c/",  "http://a\\@b/",    "http://a\\/b",	 "http://h:/a",
		"http://h:080/a", "http://h:65536/a", "http://h:8a/a",	 "http://h:80:80/a",
		"http://h%2e/a",  "http://h h/a",     "http://h/a b",	 "http://h/\r\nHost: b",
		"http://h/\x7f",  "http://[::1/a",    "http://[::1]x/a", "http://[h]/a",
		"http://::1/a",	  "http://h;b/a",     "http://h$/a",	 "http://{a,b}/a",
		"http://[]/a",	  "http://h\"/a",     "http://h,b/a"};
	struct url url;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (url_parse(texts[i], &url) == 0)
			fail_msg("%s: %s", texts[i], url.host);
}

/* libcurl's own parser, of 7.62 on. */
struct curl_parser {
	void *(*open)(void);
	int (*set)(void *url, int part, const char *text, unsigned flags);
	int (*get)(void *url, int part, char **ret, unsigned flags);
	void (*close)(void *url);
	void (*free)(void *text);
};

enum { PART_URL, PART_HOST = 5, PART_PORT = 6 };

static bool load_parser(struct curl_parser *ret)
{
	void *library = dlopen("libcurl.so.4", RTLD_NOW);
	const struct {
		const char *name;
		void *place;
	} symbols[] = {{"curl_url", &ret->open},
		       {"curl_url_set", &ret->set},
		       {"curl_url_get", &ret->get},
		       {"curl_url_cleanup", &ret->close},
		       {"curl_free", &ret->free}};

	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *function = library ? dlsym(library, symbols[i].name) : NULL;

		if (!function)
			return false;
		memcpy(symbols[i].place, &function, sizeof(function));
	}
	return true;
}

/* 127.1 is 127.0.0.1. */
static bool same_number(const char *a, const char *b)
{
	struct in_addr one, other;

	return inet_aton(a, &one) && inet_aton(b, &other) && one.s_addr == other.s_addr;
}

/* libcurl goes where we think, or nowhere. */
static void assert_leads_there(const struct curl_parser *curl, const char *text)
{
	struct url url;
	char *host = NULL, *port = NULL, name[64];
	void *parsed;

	if (url_parse(text, &url) < 0)
		return;
	parsed = curl->open();
	if (curl->set(parsed, PART_URL, text, 0) == 0) {
		assert_int_equal(curl->get(parsed, PART_HOST, &host, 0), 0);
		curl->get(parsed, PART_PORT, &port, 0);
		snprintf(name, sizeof(name), "%.*s", (int)url.name, url.host);
		if (strcasecmp(name, host) != 0 && !same_number(name, host))
			fail_msg("'%s': %s, and for libcurl %s", text, name, host);
		assert_string_equal(url.host[url.name] ? url.host + url.name + 1 : "80",
				    port ? port : "80");
		curl->free(host);
		curl->free(port);
	}
	curl->close(parsed);
	url_release(&url);
}

#define TRICKS 200000

TEST(libcurl_goes_where_we_think)
{
	static const char *const pieces[] = {"a",  "b.c", "@", ":",  "/",   "\\", "?",
					     "#",  "[",	  "]", "%2", "::1", "8",  "80",
					     "00", ".",	  "{", ";",  "&",   " "};
	struct curl_parser curl;
	unsigned random = 1;

	if (!load_parser(&curl)) {
		skip();
		return;
	}
	for (unsigned i = 0; i < TRICKS; i++) {
		char text[64] = "http://";

		for (unsigned left = 1 + i % 9; left > 0; left--) {
			random = random * 1103515245 + 12345;
			strcat(text, pieces[(random >> 16) % (sizeof(pieces) / sizeof(*pieces))]);
		}
		assert_leads_there(&curl, text);
	}
}

static bool is_at(const char *text, const char *host)
{
	struct url url SCOPE(url_release) = {0};

	assert_int_equal(url_parse(text, &url), 0);
	return url_is_at(&url, host);
}

TEST(a_host_is_meant_with_its_port_or_with_any)
{
	assert_true(is_at("https://h/a", "H"));
	assert_true(is_at("https://h:8443/a", "h"));
	assert_true(is_at("https://h:8443/a", "h:8443"));
	assert_true(is_at("https://h/a", "h:443"));
	assert_true(is_at("http://[::1]:8/a", "[::1]"));
	assert_false(is_at("https://h:8443/a", "h:443"));
	assert_false(is_at("https://h/a", "h:8443"));
	assert_false(is_at("https://h.evil/a", "h"));
	assert_false(is_at("https://h./a", "h"));
	assert_false(is_at("https://a.h/a", "h"));
	assert_false(is_at("https://h@b/a", "h"));
	assert_false(is_at("https://h/a", "https://h"));
}
