/* What a server says about ranges. */
#include "remote/header.h"
#include "remote/settings.h"
#include "tests/unit/test.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADERS                                                                      \
	"HTTP/1.1 206 Partial Content\r\nETag: \"one\"\r\ncontent-range:bytes 0-1/2" \
	"\r\nX-Empty:\r\nEtag:  \"two\" \t\r\n\r\n"

TEST(headers_are_found_in_any_case_without_blanks_and_the_last_counts)
{
	char value[32];

	assert_true(header_find(HEADERS, "ETAG", value, sizeof(value)));
	assert_string_equal(value, "\"two\"");
	assert_true(header_find(HEADERS, "Content-Range", value, sizeof(value)));
	assert_string_equal(value, "bytes 0-1/2");
	assert_true(header_find(HEADERS, "x-empty", value, sizeof(value)));
	assert_string_equal(value, "");
}

TEST(a_header_that_is_not_there_or_does_not_fit_is_not_found)
{
	char value[5];

	assert_false(header_find(HEADERS, "Range", value, sizeof(value)));
	assert_false(header_find(HEADERS, "x-empt", value, sizeof(value)));
	assert_false(header_find(HEADERS, "etag", value, sizeof(value)));
	assert_false(header_find("", "etag", value, sizeof(value)));
}

/* As it would begin another header where the value is sent back. */
TEST(a_value_ends_where_a_line_may_end)
{
	char value[32];

	assert_true(header_find("ETag: \"1\"\rX: 2\r\nY: 3\r\n", "ETag", value, sizeof(value)));
	assert_string_equal(value, "\"1\"");
	assert_true(header_find("ETag: \"1\"\rX: 2\r\nY: 3\r\n", "Y", value, sizeof(value)));
	assert_string_equal(value, "3");
}

TEST(a_range_has_its_first_and_last_byte_and_the_size_of_all)
{
	struct content_range range;

	assert_true(content_range_parse("bytes 4096-8191/1234567890123", &range));
	assert_int_equal(range.first, 4096);
	assert_int_equal(range.last, 8191);
	assert_int_equal(range.total, 1234567890123);
	assert_false(range.none);
	assert_true(content_range_parse("bytes 0-0/1", &range));
	assert_int_equal(range.last, 0);
}

TEST(beyond_the_end_there_is_no_range_but_a_size)
{
	struct content_range range;

	assert_true(content_range_parse("bytes */77", &range));
	assert_true(range.none);
	assert_int_equal(range.total, 77);
}

TEST(ranges_that_cannot_be_are_refused)
{
	static const char *const bad[] = {"",
					  "bytes",
					  "bytes ",
					  "items 0-1/2",
					  "bytes 0-1",
					  "bytes 0-1/*",
					  "bytes 1-0/2",
					  "bytes 0-2/2",
					  "bytes -1/2",
					  "bytes 0-/2",
					  "bytes 0-1/2x",
					  "bytes 0-1/-2",
					  "bytes 0-1/99999999999999999999"};
	struct content_range range;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(content_range_parse(bad[i], &range));
}

static void trusts(const struct remote_settings *settings, const char *file, const char *folder)
{
	struct remote_trust trust = remote_trust(settings);

	assert_string_equal(trust.file ? trust.file : "none", file);
	assert_string_equal(trust.folder ? trust.folder : "none", folder);
}

TEST(certificates_come_from_the_option_then_from_the_environment)
{
	const struct remote_settings set = {.ca_file = "a"}, unset = {0};

	unsetenv("AWS_CA_BUNDLE");
	unsetenv("REQUESTS_CA_BUNDLE");
	unsetenv("SSL_CERT_DIR");
	setenv("CURL_CA_BUNDLE", "", 1);
	setenv("SSL_CERT_FILE", "c", 1);
	trusts(&unset, "c", "none");
	setenv("REQUESTS_CA_BUNDLE", "r", 1);
	trusts(&unset, "r", "none");
	setenv("CURL_CA_BUNDLE", "b", 1);
	trusts(&unset, "b", "none");
	setenv("AWS_CA_BUNDLE", "/dev", 1);
	trusts(&unset, "none", "/dev"); /* as requests takes it */
	trusts(&set, "a", "none");
}

TEST(a_file_for_systems_without_certificates_is_the_last)
{
	const struct remote_settings unset = {0};

	setenv("FOLDFS_CA_FILE", "f", 1);
	setenv("SSL_CERT_FILE", "c", 1);
	unsetenv("AWS_CA_BUNDLE");
	unsetenv("CURL_CA_BUNDLE");
	unsetenv("REQUESTS_CA_BUNDLE");
	unsetenv("SSL_CERT_DIR");
	trusts(&unset, "c", "none");
	unsetenv("SSL_CERT_FILE");
	if (access("/etc/ssl/certs/ca-certificates.crt", R_OK) == 0)
		trusts(&unset, "/etc/ssl/certs/ca-certificates.crt", "none");
	unsetenv("FOLDFS_CA_FILE");
}

TEST(a_folder_of_certificates_is_beside_those_of_the_system)
{
	const struct remote_settings set = {.ca_file = "a"}, unset = {0};

	unsetenv("AWS_CA_BUNDLE");
	unsetenv("CURL_CA_BUNDLE");
	unsetenv("REQUESTS_CA_BUNDLE");
	setenv("SSL_CERT_FILE", "c", 1);
	setenv("SSL_CERT_DIR", "d", 1);
	trusts(&unset, "c", "d");
	trusts(&set, "a", "none");
	setenv("CURL_CA_BUNDLE", "b", 1);
	trusts(&unset, "b", "none");
}
