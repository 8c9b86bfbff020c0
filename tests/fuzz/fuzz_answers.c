/* Whatever servers answer: an object is read, or reading fails with a sentence, and no more bytes
 * are told than came.
 *
 *	input	u8: s3 or a URL (bit 0), patience (bit 1), which URL (bits 2 and 3), which
 *		credentials (bits 4 and 5); then answers (fake_http.h) */
#include "base/math.h"
#include "base/reader.h"
#include "remote/bearer.h"
#include "remote/reader_remote.h"
#include "remote/s3.h"
#include "remote/s3_keys.h"
#include "tests/fuzz/fake_http.h"
#include <stdio.h>

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

/* No keys are looked for outside the environment: those files are not there. They are found here,
 * as a thread would take most of the time. */
static int new_s3(struct remote_settings *settings, bool has_keys, struct remote *engine,
		  struct object_auth **ret, struct err *err)
{
	int r;

	settings->anonymous = !has_keys;
	set_variable("AWS_CONFIG_FILE", "/dev/null/none");
	set_variable("AWS_SHARED_CREDENTIALS_FILE", "/dev/null/none");
	set_variable("AWS_ACCESS_KEY_ID", "A");
	set_variable("AWS_SECRET_ACCESS_KEY", "S");
	r = s3_auth_new("s3://bucket/key", settings, engine, ret, err);
	return r == 0 && has_keys ? s3_keys_renew(engine->keys[0], err) : r;
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

	must(reader_identity(reader, &identity) == 0 && reader_hints(reader).remote);
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
