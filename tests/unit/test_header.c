/* What a server says about ranges. */
#include "remote/header.h"
#include "remote/settings.h"
#include "tests/unit/test.h"
#include <stdlib.h>
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
	assert_true(content_range_parse("bytes 0-0/1", &range));
	assert_int_equal(range.last, 0);
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
					  "bytes */77",
					  "bytes 0-/2",
					  "bytes 0-1/2x",
					  "bytes 0-1/-2",
					  "bytes 0-1/99999999999999999999"};
	struct content_range range;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(content_range_parse(bad[i], &range));
}

/* Certificates: of `option`, and of the environment; "": not set. */
static void trusts(const char *option, const char *const *variables, const char *file,
		   const char *folder)
{
	static const char *const names[] = {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE",
					    "SSL_CERT_FILE", "SSL_CERT_DIR"};
	const struct remote_settings settings = {.ca_file = option};
	struct remote_trust trust;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		setenv(names[i], variables[i], 1);
	trust = remote_trust(&settings);
	assert_string_equal(trust.file ? trust.file : "none", file);
	assert_string_equal(trust.folder ? trust.folder : "none", folder);
}

#define ENVIRONMENT(...) ((const char *const[]){__VA_ARGS__})

TEST(certificates_come_from_the_option_then_from_the_environment)
{
	trusts(NULL, ENVIRONMENT("", "", "", "c", ""), "c", "none");
	trusts(NULL, ENVIRONMENT("", "", "r", "c", ""), "r", "none");
	trusts(NULL, ENVIRONMENT("", "b", "r", "c", ""), "b", "none");
	trusts(NULL, ENVIRONMENT("/dev", "b", "r", "c", ""), "none", "/dev"); /* as requests does */
	trusts("a", ENVIRONMENT("/dev", "b", "r", "c", ""), "a", "none");
	/* A folder is beside the file of the system. */
	trusts(NULL, ENVIRONMENT("", "", "", "c", "d"), "c", "d");
	trusts("a", ENVIRONMENT("", "", "", "c", "d"), "a", "none");
	trusts(NULL, ENVIRONMENT("", "b", "", "c", "d"), "b", "none");
}

TEST(a_file_for_systems_without_certificates_is_the_last)
{
	setenv("FOLDFS_CA_FILE", "f", 1);
	trusts(NULL, ENVIRONMENT("", "", "", "c", ""), "c", "none");
	if (access("/etc/ssl/certs/ca-certificates.crt", R_OK) == 0)
		trusts(NULL, ENVIRONMENT("", "", "", "", ""), "/etc/ssl/certs/ca-certificates.crt",
		       "none");
	unsetenv("FOLDFS_CA_FILE");
}
