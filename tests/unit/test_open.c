/* Names of packs, what of them may be shown, and to whom secrets may go: remote/open.h,
 * remote/url.h, remote/bearer.h. */
#include "base/name.h"
#include "base/scope.h"
#include "remote/bearer.h"
#include "remote/hub.h"
#include "remote/open.h"
#include "remote/url.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool same_server(const char *a, const char *b)
{
	struct url one SCOPE(url_release) = {0}, other SCOPE(url_release) = {0};

	assert_int_equal(url_parse(a, &one), 0);
	assert_int_equal(url_parse(b, &other), 0);
	return url_same_server(&one, &other);
}

TEST(secrets_are_for_one_scheme_host_and_port)
{
	assert_true(same_server("https://H/a", "https://u@h/b?c"));
	assert_false(same_server("https://h/a", "http://h/a"));
	assert_false(same_server("https://h/a", "https://h:8443/a"));
	assert_false(same_server("https://h/a", "https://h.evil/a"));
}

static struct err refusal;

/* What is sent to a URL, of which this is the first one: a token, or "none", or "refused". */
static const char *sent_after(const char *first, const char *url)
{
	static char text[64];
	const struct remote_settings settings = {.first_url = first};
	SCOPE(buf_release) struct buf lines = BUF_INIT;
	struct object_auth *auth = NULL;
	int r = bearer_new(url, false, &settings, &auth, &refusal);

	snprintf(text, sizeof(text), r < 0 ? "refused" : "none");
	if (r == 0) {
		assert_int_equal(auth->ops->sign(auth, NULL, &lines, NULL), 0);
		if (lines.len)
			snprintf(text, sizeof(text), "%s", lines.data);
		/* Without a token, ~/.netrc may have a password. */
		assert_int_equal(auth->netrc, strcmp(text, "none") == 0);
		auth->ops->free(auth);
	}
	assert_true(r == 0 || r == -EACCES || r == -EINVAL);
	return text;
}

static const char *sent(const char *url)
{
	return sent_after(url, url);
}

#define SECRET "Authorization: Bearer secret"

TEST(tokens_go_in_plain_to_this_machine_only)
{
	static const char *const here[] = {"https://h/a", "http://localhost:80/a",
					   "http://127.0.0.2:8080/a", "http://[::1]:80/a"};
	static const char *const elsewhere[] = {
		"http://h/a",		"http://127.evil.com/a",  "http://127.0.0.1:80@h/a",
		"http://a.localhost/a", "http://127.0.0.1.:80/a", "http://[::127.0.0.1]/a"};

	setenv("FOLDFS_TOKEN", "secret", 1);
	for (size_t i = 0; i < sizeof(here) / sizeof(here[0]); i++)
		assert_string_equal(sent(here[i]), SECRET);
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
		assert_string_equal(sent(elsewhere[i]), "refused");
	unsetenv("FOLDFS_TOKEN");
}

TEST(what_is_around_a_token_is_no_part_of_it_and_what_is_empty_is_none)
{
	char file[] = "/tmp/test_open.XXXXXX";
	int fd = mkstemp(file);

	setenv("FOLDFS_TOKEN", " \tsecret\r\n", 1);
	assert_string_equal(sent("https://h/a"), SECRET);
	setenv("FOLDFS_TOKEN", "two words", 1);
	assert_string_equal(sent("https://h/a"), "refused");
	setenv("FOLDFS_TOKEN", "two\nlines", 1);
	assert_string_equal(sent("https://h/a"), "refused");
	setenv("FOLDFS_TOKEN", "\r\n", 1);
	assert_string_equal(sent("https://h/a"), "none");
	setenv("FOLDFS_TOKEN_FILE", file, 1);
	assert_string_equal(sent("https://h/a"), "none");
	assert_true(write(fd, "\r\n \n", 4) == 4);
	assert_string_equal(sent("https://h/a"), "none");
	assert_string_equal(sent("http://h/a"), "none"); /* and not refused */
	assert_true(write(fd, " of-file \r\nmore\n", 16) == 16);
	assert_string_equal(sent("https://h/a"), "Authorization: Bearer of-file");
	setenv("HF_TOKEN", "\n", 1);
	assert_string_equal(sent("https://huggingface.co/a"), "Authorization: Bearer of-file");
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_true(pwrite(fd, "two words\n", 10, 0) == 10);
	assert_string_equal(sent("https://h/a"), "refused");
	assert_non_null(strstr(refusal.text, ": no token in its first line"));
	unsetenv("HF_TOKEN");
	unsetenv("FOLDFS_TOKEN");
	unsetenv("FOLDFS_TOKEN_FILE");
	close(fd);
	unlink(file);
}

TEST(a_token_of_the_hub_is_for_the_hub)
{
	setenv("HF_TOKEN", "secret", 1);
	assert_string_equal(sent("https://huggingface.co/a"), SECRET);
	assert_string_equal(sent("https://cdn.HuggingFace.co/a"), SECRET);
	assert_string_equal(sent("https://evilhuggingface.co/a"), "none");
	assert_string_equal(sent("https://huggingface.co.evil.com/a"), "none");
	assert_string_equal(sent("https://uggingface.co/a"), "none");
	unsetenv("HF_TOKEN");
}

TEST(a_token_is_for_the_server_that_the_first_name_leads_to)
{
	setenv("FOLDFS_TOKEN", "secret", 1);
	assert_string_equal(sent_after("https://h/a", "https://h/b"), SECRET);
	assert_string_equal(sent_after("https://h/a", "https://i/b"), "none");
	assert_string_equal(sent_after("gs://h/a", "https://h/b"), "none");
	assert_string_equal(sent_after("gs://h/a", "https://storage.googleapis.com/h/b"), SECRET);
	assert_string_equal(sent_after("hf://datasets/a/b/c", "https://datasets/a"), "none");
	assert_string_equal(sent_after("hf://datasets/a/b/c", "https://huggingface.co/a"), SECRET);
	unsetenv("FOLDFS_TOKEN");
}

static void assert_shown(const char *name, const char *shown)
{
	char text[128];
	size_t len = strlen(name);

	memcpy(text, name, len + 1);
	name_hide_secrets(text);
	assert_string_equal(text, shown);
	/* Not behind the end either: it is the memory of argv. */
	for (size_t i = strlen(shown); i <= len; i++)
		assert_int_equal(text[i], 0);
}

TEST(user_and_query_are_not_shown)
{
	assert_shown("https://u:p@h:1/a?X-Amz-Signature=5", "https://h:1/a");
	assert_shown("http://u:p@x@h", "http://h");
	assert_shown("http://h/a@b#c", "http://h/a@b");
	assert_shown("http://h/a", "http://h/a");
	assert_shown("http://u:p@", "http://");
	assert_shown("http://u:p@h/x-{0..3}.lmdb?s", "http://h/x-{0..3}.lmdb");
	assert_shown("val/=https://u:p@h/a?s", "val/=https://h/a");
	assert_shown("@https://u:p@h/list?s", "@https://h/list");
	assert_shown("val/=@https://u:p@h/list?s", "val/=@https://h/list");
}

static void assert_taken(const char *word, const char *expected)
{
	SCOPE_FREE char *text = strdup(word);

	name_take_file(text);
	assert_string_equal(text, expected);
}

TEST(the_url_of_a_file_is_its_path)
{
	assert_taken("file:///a/b.lmdb", "/a/b.lmdb");
	assert_taken("FILE://LocalHost/a%20b%2Cc%25.tar", "/a b,c%.tar");
	assert_taken("val/=file:///a", "val/=/a");
	assert_taken("@file:///a/list", "@/a/list");
	assert_taken("val/=@file:///list", "val/=@/list");
	assert_taken("file:///x-{0..3}.tar?", "/x-{0..3}.tar?");
	for (const char *const *other =
		     (const char *const[]){"file://host/a", "file://", "file:///100%", "file:///%0",
					   "file:///a%00b", "file:///a%0g", "file://localhos/a",
					   "https://h/a%20b", "/a%20b", "a/file:///b", "a", NULL};
	     *other; other++)
		assert_taken(*other, *other);
}

static void is_on_hub(const char *name, const char *expected)
{
	SCOPE_FREE char *url = NULL;
	struct err err = {0};
	int r = hub_url(name, &url, &err);

	print_message("%s\n", name);
	assert_int_equal(r, expected ? 0 : -EINVAL);
	if (expected)
		assert_string_equal(url, expected);
}

TEST(a_name_of_the_hub_has_one_url)
{
	is_on_hub("hf://datasets/a/b/c d/e?.tar",
		  "https://huggingface.co/datasets/a/b/resolve/main/c%20d/e%3F.tar");
	is_on_hub("HF://datasets/a-1/b.c_d@v 1/x",
		  "https://huggingface.co/datasets/a-1/b.c_d/resolve/v%201/x");
	is_on_hub("hf://datasets/a/b@x%2Fy/z",
		  "https://huggingface.co/datasets/a/b/resolve/x%2Fy/z");
	is_on_hub("hf://datasets/a/b@refs/pr/7/x@y",
		  "https://huggingface.co/datasets/a/b/resolve/refs%2Fpr%2F7/x%40y");
	is_on_hub("hf://datasets/a", NULL);
	is_on_hub("hf://datasets/a/b", NULL);
	is_on_hub("hf://datasets/a/b/", NULL);
	is_on_hub("hf://datasets/a/b@/x", NULL);
	is_on_hub("hf://datasets/a/b@refs/pr/7", NULL);
	is_on_hub("hf://datasets/a/../x", NULL);
	is_on_hub("hf://datasets/../b/x", NULL);
	is_on_hub("hf://datasets/a?b/c/x", NULL);
	is_on_hub("hf://a/b/x", NULL);
}

static void is_at(const char *name, const char *endpoint, const char *expected)
{
	const struct remote_settings settings = {.endpoint = endpoint};
	struct remote engine = REMOTE_INIT;
	SCOPE_FREE char *place = NULL;

	assert_int_equal(name_place(name, &settings, &engine, &place), 0);
	assert_string_equal(place, expected);
}

/* One that is named in two ways is kept once; of one name at two servers, both are. */
TEST(a_place_is_where_a_name_leads)
{
	setenv("HOME", "/nowhere", 1);
	setenv("AWS_REGION", "eu-west-1", 1);
	is_at("https://u:p@h/a?b", NULL, "https://h/a");
	is_at("hf://datasets/a/b/c d", NULL,
	      "https://huggingface.co/datasets/a/b/resolve/main/c%20d");
	setenv("HF_ENDPOINT", "https://mirror/", 1);
	is_at("hf://datasets/a/b/c", NULL, "https://mirror/datasets/a/b/resolve/main/c");
	unsetenv("HF_ENDPOINT");
	is_at("s3://b/k?", NULL, "https://s3.amazon/b/k%3F");
	setenv("AWS_REGION", "us-west-2", 1);
	is_at("s3://b/k?", NULL, "https://s3.amazon/b/k%3F");
	setenv("AWS_REGION", "us-gov-east-1", 1);
	is_at("s3://b/k?", NULL, "https://s3.us-gov-amazon/b/k%3F");
	unsetenv("AWS_REGION");
	is_at("s3://b/k", "http://E:80", "http://e/b/k");
	is_at("gs://b/k", NULL, "https://storage.googleapis.com/b/k");
	is_at("/proc/../etc", NULL, "/etc");
}

TEST(a_bucket_is_no_pack)
{
	static const char *const names[] = {"s3://bucket", "s3://bucket/"};
	const struct remote_settings settings = REMOTE_DEFAULTS;
	struct remote engine = REMOTE_INIT;
	struct reader *reader = NULL;

	setenv("HOME", "/nowhere", 1);
	for (size_t i = 0; i < 2; i++) {
		struct err err = {0};

		assert_int_equal(reader_open(names[i], 0, &settings, &engine, &reader, &err),
				 -ENOENT);
		assert_string_equal(err.text,
				    "no object is named: s3://BUCKET/KEY, or "
				    "s3://BUCKET/ for all of them");
	}
}

TEST(paths_and_keys_are_shown_as_they_are)
{
	assert_shown("/a/b?c@d", "/a/b?c@d");
	assert_shown("s3://bucket/k@y?", "s3://bucket/k@y?");
	assert_shown("gs://bucket/k@y?", "gs://bucket/k@y?");
	assert_shown("hf://datasets/a/b@v1/x?", "hf://datasets/a/b@v1/x?");
}

TEST(a_command_line_shows_no_secrets_and_keeps_them)
{
	char classes[] = "--classes=https://u:p@h/c?s",
	     both[] = "{http://u:p@a/{b,c},http://u:p@d/e}";
	char option[] = "-ofsname=x,select=@https://u:p@h/s#t", path[] = "a@b?c";
	char *argv[] = {classes, both, option, path, NULL}, *words;

	assert_int_equal(name_hide_argv(argv, &words), 0);
	assert_string_equal(classes, "--classes=https://h/c");
	assert_string_equal(both, "{http://a/{b,c},http://d/e}");
	assert_string_equal(option, "-ofsname=x,select=@https://h/s");
	assert_string_equal(argv[0], "--classes=https://u:p@h/c?s");
	assert_string_equal(argv[1], "{http://u:p@a/{b,c},http://u:p@d/e}");
	assert_string_equal(argv[2], "-ofsname=x,select=@https://u:p@h/s#t");
	assert_ptr_equal(argv[3], path);
	free(words);
}

TEST(what_is_a_url_and_what_a_path)
{
	assert_true(name_is_url("http://h"));
	assert_true(name_is_url("HTTPS://h"));
	assert_true(name_is_url("s3://b/k"));
	assert_true(name_is_url("GS://b/k"));
	assert_true(name_is_url("hf://datasets/a/b/c"));
	assert_false(name_is_url("http:/h"));
	assert_false(name_is_url("./http://h"));
	assert_false(name_is_url("ftp://h"));
	assert_false(name_is_url("httpss://h"));
}
