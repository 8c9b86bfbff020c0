/* The files that a pattern on a server stands for, and how much a server may say: remote/listing.h,
 * remote/bounds.h. The server is this test's. */
#define TEST_MAIN
#include "base/scope.h"
#include "remote/bounds.h"
#include "remote/listing.h"
#include "tests/unit/aws_home.h"
#include "tests/unit/http_server.h"
#include <errno.h>

/* Each page has names of this length, as many as fit, unless `keys` is all that there is; and goes
 * on, if that is said. */
static struct {
	size_t len;
	const char *keys, *next, *end;
	unsigned asked, round; /* so many pages lead on to the first; 0: to others and others */
	unsigned overloaded;   /* so many requests are refused for two seconds first */
} server;

static char said[1024];

static void notice(const char *line)
{
	strncat(said, line, sizeof(said) - strlen(said) - 1);
}

static int add_names(struct buf *ret, const char *before, const char *after)
{
	unsigned number = server.asked * 100000;
	int r = 0;

	while (r == 0 && ret->len + server.len + 200 < BOUND_PAGE)
		r = buf_addf(ret, "%sd/%0*u.tar%s", before, (int)server.len - 6, number++, after);
	return r;
}

static bool answer(struct http_server *http, int fd, const char *text)
{
	SCOPE(buf_release) struct buf body = BUF_INIT, headers = BUF_INIT;
	bool hub = strstr(text, "/api/datasets/");
	unsigned number = server.round ? server.asked % server.round : server.asked;

	if (server.asked++ < server.overloaded)
		return send_status(fd, "503 Slow Down\r\nRetry-After: 2");
	buf_adds(&body, hub ? "[{}" : "<ListBucketResult>");
	if (server.keys)
		buf_adds(&body, server.keys);
	else if (hub)
		add_names(&body, ",{\"type\":\"file\",\"path\":\"", "\"}");
	else
		add_names(&body, "<Contents><Key>", "</Key></Contents>");
	buf_adds(&headers, "");
	if (hub && server.next)
		buf_addf(&headers,
			 "Link: <http://127.0.0.1:%u/api/datasets/%s%u>; rel=\"next\"\r\n",
			 http->port, server.next, number);
	if (!hub && server.next)
		buf_addf(&body, "<NextContinuationToken>%s%u</NextContinuationToken>", server.next,
			 number);
	buf_adds(&body, hub ? "]" : server.end ?: "</ListBucketResult>");
	return send_text(fd, headers.data, body.data, body.len);
}

static int list(const char *name, struct buf *ret, struct err *err)
{
	static struct remote engine = REMOTE_INIT;
	struct http_server *http = server_new(0);
	char endpoint[64];
	const struct remote_settings settings = {
		.anonymous = true, .endpoint = endpoint, .retry = 20, .notice = notice};
	int r;

	http->reply = answer;
	server_start(http);
	snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%u", http->port);
	setenv("HF_ENDPOINT", endpoint, 1);
	server.asked = 0;
	*said = '\0';
	*err = (struct err){0};
	assert_true(listing_is_pattern(name));
	r = listing_find(name, &settings, &engine, ret, err);
	server_stop(http);
	return r;
}

static const char *const patterns[] = {"hf://datasets/o/n/d/*.tar", "hf://datasets/o/n",
				       "s3://b/d/*.tar", "gs://b/d/*.tar"};

static void is_refused(const char *name, int error, const char *why, unsigned most)
{
	SCOPE(buf_release) struct buf found = BUF_INIT;
	char why_not[256];
	struct err err;

	print_message("%s\n", name);
	assert_int_equal(list(name, &found, &err), error);
	snprintf(why_not, sizeof(why_not), "%s: %s", name, why);
	assert_string_equal(err.text, why_not);
	assert_in_range(server.asked, 1, most);
	assert_in_range(found.len, 0, 16 * MIB);
}

TEST(more_files_than_can_be_used_are_not_listed)
{
	server.len = 40;
	server.keys = NULL;
	server.next = "more";
	for (size_t i = 0; i < 4; i++)
		is_refused(patterns[i], -E2BIG, "over 100000 files match", 2);
}

TEST(a_listing_that_has_no_end_is_given_up)
{
	server.keys = "";
	server.next = "more";
	for (size_t i = 0; i < 4; i++)
		is_refused(patterns[i], -E2BIG, "its listing has over 1000 pages", BOUND_PAGES);
}

#define COMES_AGAIN "its listing has a page that comes again and again"

TEST(a_listing_that_leads_in_a_circle_is_refused)
{
	server.keys = "";
	server.next = "more";
	for (server.round = 1; server.round < 100; server.round = server.round * 2 + 1)
		for (size_t i = 0; i < 4; i++)
			is_refused(patterns[i], -EPROTO, COMES_AGAIN, 3 * server.round + 1);
	server.round = 0;
}

TEST(one_page_of_a_listing_under_many_tokens_is_refused)
{
	server.next = "more";
	server.keys = ",{\"type\":\"file\",\"path\":\"d/a.tar\"}";
	is_refused(patterns[0], -EPROTO, COMES_AGAIN, 2);
	server.keys = "<Contents><Key>d/a.tar</Key></Contents>";
	is_refused(patterns[2], -EPROTO, COMES_AGAIN, 2);
	server.keys = "<Contents><Key>d/%00</Key></Contents><EncodingType>url</EncodingType>";
	is_refused(patterns[2], -E2BIG, "its listing has over 1000 pages", BOUND_PAGES);
}

TEST(an_outage_of_who_lists_is_told_and_its_end_as_well)
{
	SCOPE(buf_release) struct buf found = BUF_INIT;
	struct err err;

	server.keys = ",{\"type\":\"file\",\"path\":\"d/a.tar\"}";
	server.next = NULL;
	server.overloaded = 2;
	assert_int_equal(list(patterns[0], &found, &err), 0);
	assert_string_equal(found.data, "hf://datasets/o/n/d/a.tar");
	server.overloaded = 0;
	assert_non_null(strstr(said,
			       "hf://datasets/o/n/d/*.tar: the server is overloaded, or down "
			       "(503); asking again for up to 20 s"));
	assert_non_null(strstr(said, "hf://datasets/o/n/d/*.tar: answers again, after "));
}

TEST(a_name_is_not_as_long_as_a_page)
{
	server.len = BOUND_NAME + 100;
	server.keys = NULL;
	server.next = NULL;
	for (size_t i = 0; i < 4; i++)
		is_refused(patterns[i], -E2BIG, "it has a name of over 4 KiB", 1);
}

TEST(what_names_the_next_page_is_no_page)
{
	SCOPE_FREE char *next = calloc(1, 20 * KIB + 1);

	server.keys = "";
	server.next = memset(next, 'n', 20 * KIB);
	next[BOUND_NEXT + 1] = '\0';
	for (size_t i = 0; i < 4; i++)
		is_refused(patterns[i], -EMSGSIZE, "what names its next page has over 4 KiB", 1);
	next[BOUND_NEXT + 1] = 'n'; /* more than is kept of headers */
	for (size_t i = 0; i < 4; i++)
		is_refused(patterns[i], -EMSGSIZE, "what names its next page has over 4 KiB", 1);
}

#define KEY(text) "<Contents><Key>" text "</Key></Contents>"

static void lists(const char *keys, const char *expected)
{
	SCOPE(buf_release) struct buf found = BUF_INIT;
	struct err err;

	server.keys = keys;
	server.next = NULL;
	assert_int_equal(list("s3://b/*", &found, &err), 0);
	for (size_t i = 0; i + 1 < found.len; i++)
		found.data[i] = found.data[i] ? found.data[i] : ' ';
	assert_string_equal(found.data, expected);
}

TEST(what_ends_in_a_slash_is_a_folder)
{
	assert_true(listing_is_pattern("hf://datasets/o/n@v1"));
	assert_false(listing_is_pattern("hf://datasets/o/n@v1/"));
	assert_false(listing_is_pattern("hf://datasets/o/n/"));
	assert_false(listing_is_pattern("hf://datasets/o/n/d/"));
}

TEST(keys_are_decoded_if_the_server_has_encoded_them)
{
	lists(KEY("a+b%2B") KEY("c%20d"), "s3://b/a+b%2B s3://b/c%20d");
	lists("<EncodingType>url</EncodingType>" KEY("a+b%2B") KEY("c%20d"),
	      "s3://b/a b+ s3://b/c d");
	lists("<EncodingType>url</EncodingType>" KEY("a%00b") KEY("c"), "s3://b/c");
	lists("<EncodingType></EncodingType>" KEY("a&amp;b&#x2b;&#39;"), "s3://b/a&b+'");
}

TEST(a_listing_that_is_not_whole_is_none)
{
	server.next = NULL;
	server.keys = "<IsTruncated>true</IsTruncated>";
	is_refused("s3://b/*", -EPROTO, "its listing goes on, and the server does not say how", 1);
	server.keys = "<Contents><Key>a</Key>";
	is_refused("s3://b/*", -EPROTO, "the listing is cut", 1);
	server.keys = KEY("a");
	server.end = "<Contents>";
	is_refused("s3://b/*", -EPROTO, "the listing is cut", 1);
	server.end = NULL;
	server.keys = KEY("other");
	is_refused("s3://b/d/*", -EPROTO, "its listing has what was not asked for", 1);
}

static int clear(void **state)
{
	int r = aws_home_enter(state);

	unsetenv("HF_TOKEN");
	unsetenv("HF_ENDPOINT");
	unsetenv("FOLDFS_TOKEN");
	return r;
}

int main(void)
{
	return test_run(clear, aws_home_leave);
}
