/* Whatever is in the files of the AWS tools, and whatever services answer: keys are found, or the
 * reason says who has none. The first byte says where they are looked for; then come texts, each
 * ended by a NUL: that of the files, and one for each answer, whose first character is its status.
 * Without a text there are no files: for empty ones, as many bytes as the longest may have would be
 * reserved, and overwritten. */
#include "base/scope.h"
#include "remote/credentials.h"
#include "remote/process.h"
#include "remote/response.h"
#include "remote/url.h"
#include "tests/fuzz/fuzz.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct {
	const uint8_t *data;
	size_t len;
} rest;

static size_t take_text(const uint8_t **ret)
{
	const uint8_t *end = rest.len ? memchr(rest.data, '\0', rest.len) : NULL;
	size_t len = end ? (size_t)(end - rest.data) : rest.len;

	*ret = rest.data;
	rest.data += len + (end != NULL);
	rest.len -= len + (end != NULL);
	return len;
}

static int answer(struct buf *ret, size_t skip)
{
	const uint8_t *text;
	size_t len = take_text(&text);

	if (len < skip)
		return -EIO;
	ret->len = 0;
	must(buf_add(ret, text + skip, len - skip) == 0 && buf_add(ret, "", 1) == 0);
	ret->len--;
	return 0;
}

static int fetched(const struct fetch_request *request, unsigned *ret_status, struct buf *ret_body,
		   struct err *err)
{
	static const unsigned statuses[] = {200, 404, 401, 403, 500, 400};
	struct url url = {0};

	if (url_parse(request->url, &url) == 0)
		url_release(&url);
	*ret_status = rest.len ? statuses[*rest.data % 6] : 404;
	return answer(ret_body, 1) < 0 ? err_set(err, -EIO, "no answer") : 0;
}

/* In place of remote/process.c: no program of a profile is run. */
int process_output(const char *const argv[], unsigned timeout_ms, const atomic_bool *stops,
		   struct buf *ret)
{
	(void)timeout_ms, (void)stops;
	return argv[0] ? answer(ret, 0) : -ENOENT;
}

static void look_in(unsigned places, const char *file)
{
	static const struct {
		const char *name, *value; /* NULL: the file */
	} variables[] = {
		{"AWS_ROLE_ARN", "arn:aws:iam::1:role/x"},
		{"AWS_WEB_IDENTITY_TOKEN_FILE", NULL},
		{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x"},
		{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1/x"},
		{"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", NULL},
		{"AWS_EC2_METADATA_DISABLED", "true"},
		{"AWS_CONFIG_FILE", NULL},
		{"AWS_SHARED_CREDENTIALS_FILE", NULL},
	};

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		if (i >= 6 || places & 1u << i)
			setenv(variables[i].name, variables[i].value ? variables[i].value : file,
			       1);
		else
			unsetenv(variables[i].name);
}

/* The input as the listing of the Hub. */
static void read_listing(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"type", "path"};
	SCOPE_FREE char *text = strndup((const char *)data, size);
	const char *at = text;
	int r = 0;

	while (r == 0) {
		char *texts[2] = {NULL, NULL};

		r = response_json_next(&at, names, texts, 2);
		must(r < 0 || at <= text + strlen(text));
		free(texts[0]);
		free(texts[1]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPE(credentials_release) struct credentials found = {0};
	struct remote_settings settings = REMOTE_DEFAULTS;
	struct credentials_ask ask = {
		.domain = "amazonaws.com", .fetch = fetched, .settings = &settings};
	const uint8_t *text;
	struct err err = {{0}};
	char path[32];
	size_t len;

	if (size == 0)
		return 0;
	read_listing(data + 1, size - 1);
	rest.data = data + 1;
	rest.len = size - 1;
	len = take_text(&text);
	SCOPE_CLOSE int fd = fuzz_file(text, len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d%s", fd, len ? "" : "/none");
	look_in(data[0], path);
	ask.google = data[0] & 128;
	settings.profile = data[0] & 64 ? "x" : NULL;
	if (credentials_find(&ask, &found, &err) < 0)
		must(err.text[0]);
	else
		must(found.access ? found.secret != NULL : ask.google && found.token);
	return 0;
}
