/* Whatever servers list: it is found, or the listing fails with a sentence. What is found is read.
 *
 *	input	u8: gs (bit 0) or hf (bit 1), otherwise s3; of all of it (bit 2); then answers
 *		(fake_http.h) */
#define FAKE_BODY 64
#include "remote/prefix.h"
#include "tests/fuzz/fake_http.h"

static void notice(const char *line)
{
	must(line[0]);
}

struct found {
	struct members *members;
	unsigned count;
};

static void read_ended(void *arg, int error)
{
	must(error <= 0);
	*(int *)arg = error;
}

static int read_member(void *arg, const struct member *member)
{
	static char bytes[READER_PAGE];
	static const struct iovec iov = {bytes, sizeof(bytes)};
	struct found *found = arg;
	uint64_t needed = member->size < sizeof(bytes) ? member->size : sizeof(bytes);
	int ended = 1;

	must(strlen(member->path) <= BOUND_NAME && strlen(member->tag) < BOUND_PAGE);
	if (found->count++ < 4) {
		found->members->ops->submit(found->members, member, &iov, 1, 0, needed, NULL,
					    read_ended, &ended);
		must(ended <= 0);
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {
		"s3://bucket/a/", "gs://bucket/a/", "hf://datasets/o/n/a/", "hf://datasets/o/n/a/",
		"s3://bucket/",	  "gs://bucket/",   "hf://datasets/o/n/",   "hf://datasets/o/n/"};
	const struct remote_settings settings = {.anonymous = true, .retry = 0, .notice = notice};
	struct remote engine = REMOTE_INIT;
	struct found found = {0};
	struct reader_stats stats;
	struct err err = {{0}};
	int r;

	if (size == 0)
		return 0;
	must(name_is_prefix(names[data[0] & 7]));
	rest.data = data + 1;
	rest.len = size - 1;
	r = prefix_open(names[data[0] & 7], &settings, &engine, &found.members, &err);
	must(r == 0 || err.text[0]);
	if (r < 0)
		return 0;
	must(found.members->ops->prepare(found.members, READER_AUTO) == 0);
	r = found.members->ops->list(found.members, read_member, &found, &err);
	must(r == 0 || err.text[0]);
	found.members->ops->stats(found.members, &stats);
	found.members->ops->cancel(found.members);
	found.members->ops->rest(found.members);
	found.members->ops->free(found.members);
	return 0;
}
