/* A remote reader for tests: a file of made-up bytes that counts what is asked of it, and whose
 * answers come when the test lets them, in a thread of its own. */
#pragma once

#include "base/reader.h"
#include "base/scope.h"
#include "tests/unit/test.h"
#include <string.h>

struct far {
	struct reader reader;
	char *image;
	uint64_t size, written;
	atomic_int error;
	uint64_t told_from, told_to; /* that it will be asked for */

	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Protected by lock: */
	struct reader_request *first, **last;
	bool held; /* answers wait */
	bool ends, cancelled;
	unsigned asked; /* requests, ever */
	uint64_t bytes; /* asked for, ever */
	uint64_t ahead; /* of these, by requests that nobody waits for */
};

static inline void far_note(struct far *far, uint64_t bytes, bool ahead)
{
	SCOPE_LOCK(&far->lock);
	far->asked++;
	far->bytes += bytes;
	far->ahead += ahead ? bytes : 0;
	pthread_cond_broadcast(&far->changed);
}

static inline int far_copy(struct far *far, const struct iovec *iov, int count, uint64_t offset,
			   uint64_t needed)
{
	if (offset + needed > far->size)
		return -ENODATA;
	for (int i = 0; i < count && offset < far->size; i++) {
		uint64_t len =
			iov[i].iov_len < far->size - offset ? iov[i].iov_len : far->size - offset;

		if (iov[i].iov_base)
			memcpy(iov[i].iov_base, far->image + offset, len);
		offset += len;
	}
	return atomic_load(&far->error);
}

static inline int far_read(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			   uint64_t needed)
{
	struct far *far = (struct far *)reader;
	int r = far_copy(far, iov, count, offset, needed);

	far_note(far, needed, false);
	/* A reader may change it. */
	memset(iov, 0, (size_t)count * sizeof(*iov));
	return r;
}

static inline void far_submit(struct reader *reader, struct reader_request *request)
{
	struct far *far = (struct far *)reader;

	request->next = NULL;
	far_note(far, request->needed, atomic_load(reader_ahead(request)));
	SCOPE_LOCK(&far->lock);
	*far->last = request;
	far->last = &request->next;
	pthread_cond_broadcast(&far->changed);
}

static inline void *far_thread(void *arg)
{
	struct far *far = arg;

	SCOPE_LOCK(&far->lock);
	for (;;) {
		struct reader_request *request = far->first;

		if (request && (!far->held || far->cancelled)) {
			bool cancelled = far->cancelled && atomic_load(reader_ahead(request));

			far->first = request->next;
			far->last = far->first ? far->last : &far->first;
			pthread_mutex_unlock(&far->lock);
			request->done(request->arg,
				      cancelled ? -ECANCELED
						: far_copy(far, request->iov, request->count,
							   request->offset, request->needed));
			pthread_mutex_lock(&far->lock);
		} else if (far->ends) {
			return NULL;
		} else {
			pthread_cond_wait(&far->changed, &far->lock);
		}
	}
}

static inline ssize_t far_get(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	struct far *far = (struct far *)reader;
	size_t n = offset > far->size ? 0 : far->size - offset < len ? far->size - offset : len;
	int error = atomic_load(&far->error);

	if (offset < far->told_from || offset + n > far->told_to)
		far_note(far, n, false);
	memcpy(buf, far->image + offset, n);
	return error ? error : (ssize_t)n;
}

static inline void far_will_get(struct reader *reader, uint64_t offset, size_t len)
{
	struct far *far = (struct far *)reader;

	far_note(far, len, true);
	far->told_from = offset;
	far->told_to = offset + len;
}

static inline int far_identity(struct reader *reader, struct reader_identity *ret)
{
	const struct far *far = (struct far *)reader;

	*ret = (struct reader_identity){.size = far->size, .written = far->written};
	return 0;
}

static inline void far_hints(const struct reader *reader, struct reader_hints *ret)
{
	bool far = reader->ops->submit;

	*ret = (struct reader_hints){.shared = far, .remote = far};
}

static inline int far_prepare(struct reader *reader, enum reader_io io)
{
	(void)reader;
	(void)io;
	return 0;
}

static inline void far_cancel(struct reader *reader)
{
	struct far *far = (struct far *)reader;

	SCOPE_LOCK(&far->lock);
	far->cancelled = true;
	pthread_cond_broadcast(&far->changed);
}

static inline void far_hold(struct far *far, bool held)
{
	SCOPE_LOCK(&far->lock);
	far->held = held;
	pthread_cond_broadcast(&far->changed);
}

static inline void far_free(struct reader *reader)
{
	struct far *far = (struct far *)reader;

	pthread_mutex_lock(&far->lock);
	far->ends = true;
	far->held = false;
	pthread_cond_broadcast(&far->changed);
	pthread_mutex_unlock(&far->lock);
	pthread_join(far->thread, NULL);
	pthread_cond_destroy(&far->changed);
	pthread_mutex_destroy(&far->lock);
	free(far->image);
	free(far);
}

/* `waits`: it is not far, and reads wait. */
static inline struct far *far_new(uint64_t size, bool waits)
{
	static const struct reader_ops ops[] = {
		{.prepare = far_prepare,
		 .read = far_read,
		 .submit = far_submit,
		 .cancel = far_cancel,
		 .get = far_get,
		 .will_get = far_will_get,
		 .identity = far_identity,
		 .hints = far_hints,
		 .free = far_free},
		{.prepare = far_prepare,
		 .read = far_read,
		 .get = far_get,
		 .will_get = far_will_get,
		 .identity = far_identity,
		 .hints = far_hints,
		 .free = far_free},
	};
	struct far *far = calloc(1, sizeof(*far));
	uint64_t x = 12345;

	assert_non_null(far);
	far->reader.ops = &ops[waits];
	far->size = size;
	far->image = malloc(size + sizeof(x));
	assert_non_null(far->image);
	for (uint64_t i = 0; i < size; i += sizeof(x)) {
		x = x * 6364136223846793005 + 1442695040888963407;
		memcpy(far->image + i, &x, sizeof(x));
	}
	far->last = &far->first;
	pthread_mutex_init(&far->lock, NULL);
	pthread_cond_init(&far->changed, NULL);
	assert_int_equal(pthread_create(&far->thread, NULL, far_thread, far), 0);
	return far;
}

/* What was asked for since the last call. */
static inline uint64_t far_take_bytes(struct far *far)
{
	SCOPE_LOCK(&far->lock);
	uint64_t bytes = far->bytes;

	far->bytes = 0;
	return bytes;
}

static inline unsigned far_take_asked(struct far *far)
{
	SCOPE_LOCK(&far->lock);
	unsigned asked = far->asked;

	far->asked = 0;
	return asked;
}
