/* A pack on a server, for tests of what reads ahead: its requests are counted, and end at once or
 * when the test lets them. */
#pragma once

#include "base/reader_file.h"
#include "pack/dataset_open.h"
#include "pack_fixture.h"
#include "tests/unit/test.h"

struct far {
	struct reader reader;
	struct reader *near;
	bool is_near;
	atomic_uint reads, settled, right;
	atomic_uint awaited; /* requests that somebody waited for when they were cancelled */
	uint64_t bad;	     /* reads of this byte fail; 0: none */
	atomic_ullong flip;  /* this byte is damaged once; 0: none */
	pthread_mutex_t lock;
	bool held;			/* protected by lock */
	struct reader_request *waiting; /* the same */
};

static inline struct far *far_of(struct reader *reader)
{
	return (struct far *)(void *)reader;
}

static inline int far_prepare(struct reader *reader, enum reader_io io)
{
	return reader_prepare(far_of(reader)->near, io);
}

static inline int far_read(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			   uint64_t needed)
{
	struct far *far = far_of(reader);
	char *bytes = iov->iov_base;
	uint64_t end = offset + iov->iov_len, flip = atomic_load(&far->flip);
	int r;

	far->reads++;
	if (far->bad && offset <= far->bad && far->bad < end)
		return -EIO;
	r = reader_read(far->near, iov, count, offset, needed);
	if (flip && offset <= flip && flip < end && atomic_exchange(&far->flip, 0))
		bytes[flip - offset] ^= 1;
	return r;
}

static inline void far_settle(struct reader_request *request, bool right)
{
	struct far *far = request->settled;

	far->settled++;
	far->right += right;
}

static inline void far_answer(struct far *far, struct reader_request *request)
{
	struct iovec iov = *request->iov;
	int r = far_read(&far->reader, &iov, request->count, request->offset, request->needed);

	request->offset = UINT64_MAX; /* as a reader of several volumes changes it */
	request->settle = far_settle;
	request->settled = far;
	request->done(request->arg, r);
}

static inline void far_submit(struct reader *reader, struct reader_request *request)
{
	struct far *far = far_of(reader);
	bool held;

	pthread_mutex_lock(&far->lock);
	held = far->held;
	if (held) {
		request->next = far->waiting;
		far->waiting = request;
	}
	pthread_mutex_unlock(&far->lock);
	if (!held)
		far_answer(far, request);
}

static inline unsigned far_waiting(struct far *far)
{
	unsigned count = 0;

	SCOPE_LOCK(&far->lock);
	for (const struct reader_request *one = far->waiting; one; one = one->next)
		count++;
	return count;
}

/* Whether somebody waits for a request. */
static inline bool far_awaited(struct far *far)
{
	const struct reader_request *one;

	SCOPE_LOCK(&far->lock);
	one = far->waiting;
	while (one && one->ahead)
		one = one->next;
	return one;
}

static inline struct reader_request *far_take(struct far *far)
{
	struct reader_request *first;

	SCOPE_LOCK(&far->lock);
	first = far->waiting;
	if (first)
		far->waiting = first->next;
	return first;
}

static inline void far_hold(struct far *far)
{
	SCOPE_LOCK(&far->lock);
	far->held = true;
}

static inline void far_let_go(struct far *far)
{
	struct reader_request *request;

	pthread_mutex_lock(&far->lock);
	far->held = false;
	pthread_mutex_unlock(&far->lock);
	while ((request = far_take(far)))
		far_answer(far, request);
}

static inline ssize_t far_get(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	struct far *far = far_of(reader);

	far->reads++;
	if (far->bad && offset <= far->bad && far->bad < offset + len)
		return -EIO;
	return reader_get(far->near, buf, len, offset);
}

/* What somebody waits for is not tried again. */
static inline void far_cancel(struct reader *reader)
{
	struct far *far = far_of(reader);
	struct reader_request *request;

	while ((request = far_take(far))) {
		far->awaited += !request->ahead;
		request->done(request->arg, request->ahead ? -ECANCELED : -EIO);
	}
}

static inline int far_identity(struct reader *reader, struct reader_identity *ret)
{
	return reader_identity(far_of(reader)->near, ret);
}

static inline void far_hints(const struct reader *reader, struct reader_hints *ret)
{
	*ret = (struct reader_hints){.remote =
					     !((const struct far *)(const void *)reader)->is_near};
}

static inline void far_free(struct reader *reader)
{
	struct far *far = far_of(reader);

	pthread_mutex_destroy(&far->lock);
	reader_free(far->near);
	free(far);
}

static const struct reader_ops far_ops = {.prepare = far_prepare,
					  .read = far_read,
					  .submit = far_submit,
					  .get = far_get,
					  .cancel = far_cancel,
					  .identity = far_identity,
					  .hints = far_hints,
					  .free = far_free};

/* The pack that the fixture has stored, seen through a far reader, which the dataset owns. */
static inline struct far *far_open(struct fixture *f)
{
	struct far *far = calloc(1, sizeof(*far));

	finish(f);
	assert_non_null(far);
	far->reader.ops = &far_ops;
	pthread_mutex_init(&far->lock, NULL);
	assert_done(reader_file_open(f->path, &far->near));
	assert_done(dataset_try_reader(&far->reader, &f->dataset, &f->err));
	assert_done(dataset_load(f->dataset, DATASET_CHECKSUMS, &f->err));
	far->reads = 0;
	return far;
}
