/* Whatever servers answer: an object is read, or reading fails with a sentence, and no more bytes
 * are told than came. This takes the place of remote/http.c: each attempt of a transfer gets the
 * next answer of the input, and is cancelled once there is none; and of remote/object_auth.c,
 * whose threads would take most of the time.
 *
 *	input	u8: s3 or a URL (bit 0), patience (bit 1), which URL (bits 2 and 3), which
 *		credentials (bits 4 and 5); then answers
 *	answer	u8: the status, by its place in the table; u8: how it ends; u8 * 4: bytes of the
 *		headers; u8 * 4: bytes of the body; headers; body */
#include "base/math.h"
#include "base/reader.h"
#include "base/scope.h"
#include "remote/bearer.h"
#include "remote/bounds.h"
#include "remote/header.h"
#include "remote/http.h"
#include "remote/object_auth.h"
#include "remote/reader_remote.h"
#include "remote/s3.h"
#include "tests/fuzz/fuzz.h"
#include <stdio.h>
#include <string.h>

static const unsigned statuses[] = {206, 200, 301, 307, 400, 401, 403, 404,
				    410, 412, 416, 429, 500, 503, 100, 0};

static struct {
	const uint8_t *data;
	size_t len;
} rest;

static size_t take_number(void)
{
	if (rest.len == 0)
		return 0;
	rest.len--;
	return *rest.data++;
}

static const char *take_bytes(size_t len, char *to, size_t room, size_t *ret_len)
{
	if (len > rest.len)
		len = rest.len;
	if (len > room - 1)
		len = room - 1;
	memcpy(to, rest.data, len);
	to[len] = '\0';
	rest.data += len;
	rest.len -= len;
	*ret_len = len;
	return to;
}

/* --- remote/http.h ---------------------------------------------------------------------------- */

struct http {
	int nothing;
};

/* Into the memory of the transfer, after what it has. Returns false if it does not fit. */
static bool scatter(struct http_transfer *transfer, const char *body, size_t len)
{
	uint64_t at = transfer->got;

	for (int i = 0; i < transfer->count && len; i++) {
		const struct iovec *iov = &transfer->iov[i];
		size_t part = iov->iov_len > at ? iov->iov_len - at : 0;

		part = part < len ? part : len;
		if (part)
			memcpy((char *)iov->iov_base + at, body, part);
		at -= part ? at : iov->iov_len;
		transfer->got += part;
		body += part;
		len -= part;
	}
	return len == 0;
}

static struct http_verdict answer(struct http_transfer *transfer, struct http_outcome *outcome)
{
	static char headers[1024], body[BOUND_REFUSAL + 1], redirect[1024];
	unsigned status = statuses[take_number() % 16], end = (unsigned)take_number();
	size_t headers_len = 4 * take_number(), body_len = 4 * take_number(), len;

	outcome->end = end < 192 ? HTTP_ANSWERED : (enum http_end)(end % HTTP_CANCELLED);
	outcome->retry_after = end;
	outcome->answer.status = status;
	outcome->answer.headers = take_bytes(headers_len, headers, sizeof(headers), &len);
	outcome->answer.body = take_bytes(body_len, body, sizeof(body), &len);
	outcome->answer.len = len;
	if (status / 100 == 3 && header_find(headers, "Location", redirect, sizeof(redirect)))
		outcome->redirect = redirect;
	if (status && transfer->ops->accept(transfer, status, headers)) {
		outcome->answer.body = "";
		outcome->answer.len = 0;
		if (!scatter(transfer, body, len))
			outcome->end = HTTP_TOO_LONG;
	}
	return transfer->ops->finished(transfer, outcome);
}

static int add_header(void *context, const char *line)
{
	(void)context;
	must(!strpbrk(line, "\r\n"));
	return 0;
}

void http_submit(struct http_client *client, struct http_transfer *transfer)
{
	struct http_verdict verdict = {.again = true};

	(void)client;
	while (verdict.again) {
		struct http_message message = {.add = add_header};
		struct http_outcome outcome = {.answer = {.headers = "", .body = ""}, .reason = ""};
		bool last = rest.len == 0;

		outcome.end = HTTP_CANCELLED;
		if (!last && transfer->ops->prepare(transfer, &message) < 0) {
			outcome.end = HTTP_IMPOSSIBLE;
			(void)take_number(); /* or it would be tried for 30 seconds */
		}
		if (last || outcome.end == HTTP_IMPOSSIBLE)
			verdict = transfer->ops->finished(transfer, &outcome);
		else
			verdict = answer(transfer, &outcome);
		must(!last || !verdict.again);
	}
}

int remote_join(struct remote *remote, const struct remote_settings *settings, struct http **ret,
		struct err *err)
{
	(void)remote;
	(void)settings;
	(void)err;
	*ret = NULL;
	return 0;
}

void remote_leave(struct remote *remote)
{
	(void)remote;
}

int http_client_new(struct http *http, const char *url, struct http_client **ret)
{
	(void)http;
	must(url[0]);
	*ret = NULL;
	return 0;
}

void http_client_free(struct http_client *client)
{
	(void)client;
}

void http_end(struct http_client *client)
{
	(void)client;
}

void http_cancel(struct http_client *client)
{
	(void)client;
}

bool http_speak(struct http_client *client)
{
	(void)client;
	return true;
}

void http_hush(struct http_client *client)
{
	(void)client;
}

void http_hurry(struct http_client *client)
{
	(void)client;
}

void http_stats(struct http_client *client, struct reader_stats *ret)
{
	(void)client;
	*ret = (struct reader_stats){0};
}

/* --- remote/object_auth.h ------------------------------------------------------------------ */

void object_refresh_init(struct object_refresh *refresh, const struct object_refresh_ops *ops)
{
	refresh->ops = ops;
}

void object_refresh_rest(struct object_refresh *refresh)
{
	(void)refresh;
}

void object_refresh_release(struct object_refresh *refresh)
{
	(void)refresh;
}

int object_refresh_look(struct object_refresh *refresh, struct err *err)
{
	enum object_auth_state state = refresh->ops->state(refresh);
	int r = state == AUTH_READY ? 0 : refresh->ops->refresh(refresh, err);

	must(r == 0 || err->text[0]);
	return state == AUTH_AGES ? 0 : r;
}

/* --- the target ------------------------------------------------------------------------------- */

static void notice(const char *line)
{
	must(line[0]);
}

static void set_variable(const char *name, const char *value)
{
	must((value ? setenv(name, value, 1) : unsetenv(name)) == 0);
}

static const char *token_file(void)
{
	static char path[32];

	if (!path[0])
		snprintf(path, sizeof(path), "/proc/self/fd/%d",
			 fuzz_file((const uint8_t *)"token\n", 6));
	return path;
}

/* No keys are looked for outside the environment: those files are not there. */
static int new_s3(struct remote_settings *settings, bool has_keys, struct remote *engine,
		  struct object_auth **ret, struct err *err)
{
	settings->anonymous = !has_keys;
	set_variable("AWS_CONFIG_FILE", "/dev/null/none");
	set_variable("AWS_SHARED_CREDENTIALS_FILE", "/dev/null/none");
	set_variable("AWS_ACCESS_KEY_ID", "A");
	set_variable("AWS_SECRET_ACCESS_KEY", "S");
	return s3_auth_new("s3://bucket/key", settings, fetch, engine, ret, err);
}

static int new_bearer(const struct remote_settings *settings, unsigned where, unsigned token,
		      struct object_auth **ret, struct err *err)
{
	static const char *const urls[] = {"https://host/x", "http://127.0.0.1/x", "http://host/x",
					   "https://a.huggingface.co/x"};
	static const char *const tokens[] = {NULL, "token", "two words", NULL};

	set_variable("FOLDFS_TOKEN_HOST", where & 2 ? "host" : "127.0.0.1");
	set_variable("FOLDFS_TOKEN", tokens[token]);
	set_variable("HF_TOKEN", tokens[token]);
	set_variable("FOLDFS_TOKEN_FILE", token == 3 ? token_file() : NULL);
	return bearer_new(urls[where], where & 1, settings, ret, err);
}

static void get_all(struct reader *reader, uint64_t size)
{
	static uint8_t buf[65536];

	for (unsigned i = 0; i < 4; i++) {
		uint64_t at = size / 4 * i, left = size - at;

		must(reader_get(reader, buf, sizeof(buf), at) <= (ssize_t)min(left, sizeof(buf)));
	}
}

static void read_pages(struct reader *reader, uint64_t size)
{
	static uint8_t first[READER_PAGE], second[READER_PAGE];
	struct iovec iov[] = {{first, sizeof(first)}, {second, sizeof(second)}};

	must(reader_read(reader, iov, 2, size / READER_PAGE * READER_PAGE, 1) <= 0);
	(void)reader_read(reader, iov, 2, 0, min(size, sizeof(first) + sizeof(second)));
}

static void use(struct reader *reader)
{
	struct reader_identity identity;
	struct reader_stats stats;

	must(reader_identity(reader, &identity) == 0 && reader_hints(reader).far);
	get_all(reader, identity.size);
	must(reader_prepare(reader, READER_AUTO) == 0); /* which forgets what opening has read */
	reader_will_get(reader, 0, 4096);
	reader_will_get(reader, 0, 4096);
	get_all(reader, identity.size);
	read_pages(reader, identity.size);
	(void)reader_bad(reader, 0, 4096);
	must(reader_stats(reader, &stats));
	reader_rest(reader);
	reader_cancel(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct remote_settings settings = {.notice = notice};
	struct remote engine = REMOTE_INIT;
	SCOPE(reader_release) struct reader *reader = NULL;
	struct object_auth *auth;
	struct err err = {{0}};
	int r;

	if (size == 0)
		return 0;
	settings.retry = data[0] & 2 ? REMOTE_RETRY : 0;
	rest.data = data + 1;
	rest.len = size - 1;
	r = data[0] & 1 ? new_s3(&settings, data[0] >> 4 & 1, &engine, &auth, &err)
			: new_bearer(&settings, data[0] >> 2 & 3, data[0] >> 4 & 3, &auth, &err);
	must(r == 0 || err.text[0]);
	if (r < 0)
		return 0;
	r = reader_remote_open("x", auth, 0, &settings, &engine, &reader, &err);
	must(r == 0 || err.text[0]);
	if (r == 0)
		use(reader);
	return 0;
}
