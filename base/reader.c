#include "base/reader.h"
#include "base/scope.h"
#include "base/size.h"
#include <string.h>

#define WHOLE_HEAD (8 * MIB)  /* of a remote file, that comes with opening it */
#define WHOLE_STEP (64 * MIB) /* some parts of it, which are asked for together */

int reader_read_now(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
		    uint64_t needed)
{
	return reader->ops->read_now ? reader->ops->read_now(reader, iov, count, offset, needed)
				     : -EAGAIN;
}

ssize_t reader_get(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	return reader->ops->get(reader, buf, len, offset);
}

int reader_get_full(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	ssize_t n = reader_get(reader, buf, len, offset);

	if (n < 0)
		return (int)n;
	return (size_t)n < len ? -ENODATA : 0;
}

int reader_get_all(struct reader *reader, uint64_t most, struct buf *ret)
{
	struct reader_identity identity = {0};
	size_t len = WHOLE_HEAD;
	uint64_t done = 0;
	ssize_t n;

	if (reader_identity(reader, &identity) == 0 && identity.size > most)
		return -EFBIG;
	for (;;) {
		if (buf_reserve(ret, len) < 0)
			return -ENOMEM;
		n = reader_get(reader, ret->data + ret->len, len, done);
		if (n < 0)
			return (int)n;
		ret->len += (size_t)n;
		done += (uint64_t)n;
		if (done > most)
			return -EFBIG;
		if ((size_t)n < len)
			return 0;
		len = WHOLE_STEP;
	}
}

int reader_prepare(struct reader *reader, enum reader_io io)
{
	reader->reads = reader->bytes = reader->errors = 0;
	return reader->ops->prepare ? reader->ops->prepare(reader, io) : 0;
}

/* A read changes the iovec, which is the caller's. */
static int read_request(struct reader *reader, const struct reader_request *request)
{
	size_t size = (size_t)request->count * sizeof(*request->iov);
	SCOPE_FREE struct iovec *iov = malloc(size);

	if (!iov)
		return -ENOMEM;
	memcpy(iov, request->iov, size);
	return reader_read(reader, iov, request->count, request->offset, request->needed);
}

void reader_submit(struct reader *reader, struct reader_request *request)
{
	if (reader->ops->submit)
		reader->ops->submit(reader, request);
	else
		request->done(request->arg, read_request(reader, request));
}

struct awaited {
	pthread_mutex_t lock;
	pthread_cond_t over;
	bool is_over;
	int error;
};

/* Signals under the lock: the waiter's stack may be gone right after. */
static void on_over(void *arg, int error)
{
	struct awaited *awaited = arg;

	SCOPE_LOCK(&awaited->lock);
	awaited->is_over = true;
	awaited->error = error;
	pthread_cond_signal(&awaited->over);
}

int reader_submit_and_wait(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			   uint64_t needed)
{
	struct awaited awaited = {.lock = PTHREAD_MUTEX_INITIALIZER,
				  .over = PTHREAD_COND_INITIALIZER};
	struct reader_request request = {.iov = iov,
					 .count = count,
					 .offset = offset,
					 .needed = needed,
					 .done = on_over,
					 .arg = &awaited};

	reader_submit(reader, &request);
	pthread_mutex_lock(&awaited.lock);
	while (!awaited.is_over)
		pthread_cond_wait(&awaited.over, &awaited.lock);
	pthread_mutex_unlock(&awaited.lock);
	reader_settle(&request, awaited.error == 0);
	return awaited.error;
}

void reader_settle(struct reader_request *request, bool right)
{
	if (request->settle)
		request->settle(request, right);
}

const atomic_bool *reader_ahead(const struct reader_request *request)
{
	while (request->whole)
		request = request->whole;
	return &request->ahead;
}

struct reader_counts reader_counts(const struct reader *reader)
{
	struct reader_counts counts = {
		.reads = reader->reads, .bytes = reader->bytes, .errors = reader->errors};

	if (reader->ops->counts)
		reader->ops->counts(reader, &counts);
	return counts;
}

struct reader_hints reader_hints(const struct reader *reader)
{
	struct reader_hints hints;

	reader->ops->hints(reader, &hints);
	return hints;
}

void reader_cancel(struct reader *reader)
{
	if (reader->ops->cancel)
		reader->ops->cancel(reader);
}

struct reader *reader_origin(struct reader *reader)
{
	return reader->ops->origin ? reader->ops->origin(reader) : reader;
}

void reader_known(struct reader *reader, const void *head, size_t len)
{
	if (reader->ops->known)
		reader->ops->known(reader, head, len);
}

bool reader_bad(struct reader *reader, uint64_t offset, uint64_t len)
{
	return reader->ops->bad && reader->ops->bad(reader, offset, len);
}

bool reader_stats(struct reader *reader, struct reader_stats *ret)
{
	if (reader->ops->stats)
		reader->ops->stats(reader, ret);
	return reader->ops->stats;
}

void reader_rest(struct reader *reader)
{
	if (reader->ops->rest)
		reader->ops->rest(reader);
}

int reader_set_place(struct reader *reader, const char *place)
{
	char *copy = strdup(place);

	if (!copy)
		return -ENOMEM;
	free(reader->place);
	reader->place = copy;
	return 0;
}

void reader_free(struct reader *reader)
{
	char *place = reader ? reader->place : NULL;

	if (reader)
		reader->ops->free(reader);
	free(place);
}

void reader_release(struct reader **reader)
{
	reader_free(*reader);
}

void reader_will_get(struct reader *reader, uint64_t offset, size_t len)
{
	if (reader->ops->will_get)
		reader->ops->will_get(reader, offset, len);
}

int reader_identity(struct reader *reader, struct reader_identity *ret)
{
	return reader->ops->identity(reader, ret);
}

bool reader_identity_same(const struct reader_identity *a, const struct reader_identity *b)
{
	return a->size == b->size && a->written == b->written;
}
