/* A reader of storage that is far, for tests: what it is asked for is counted, and under way until
 * the test lets it end, in any order, but first what somebody waits for. The bytes are those of
 * another reader, which is read in its only thread. */
#pragma once

#include "base/reader.h"
#include "base/scope.h"
#include <stdlib.h>
#include <string.h>

struct far {
	struct reader reader;
	struct reader_ops ops;
	struct reader *near;
	bool owns;	  /* that goes with it */
	uint64_t written; /* the file was then; 0: as `near` says */
	bool is_near;	  /* no hint says that it is far */
	bool hurried;	  /* nobody reads it in a thread of his own: that would wait */
	bool patient;	  /* knows no cancelling */
	bool fails;	  /* what somebody waits for is not tried again once it is cancelled */
	void (*settle)(struct reader_request *request, bool right); /* NULL: nothing to do */
	uint64_t told_from, told_to;				    /* that it will be asked for */
	uint64_t bad;	    /* reads of this byte fail; 0: none */
	atomic_ullong flip; /* this byte is damaged once; 0: none */
	atomic_int error;   /* of all reads */
	atomic_uint reads, settled, right;
	atomic_uint awaited; /* requests that somebody waited for when they were cancelled */
	unsigned seed;

	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Protected by lock: */
	struct reader_request *first; /* the latest first */
	unsigned under_way, urgent;
	bool held, cancelled, freed, started;
	unsigned asked; /* requests, ever */
	uint64_t bytes; /* asked for, ever */
	uint64_t ahead; /* of these, by requests that nobody waits for */
};

/* The test's thread is another one: what runs in the reader's must be short. */
static _Thread_local bool is_far_thread;

static inline struct far *far_of(const struct reader *reader)
{
	return (struct far *)(uintptr_t)reader;
}

static inline uint64_t far_end(const struct reader_request *request)
{
	uint64_t end = request->offset;

	for (int i = 0; i < request->count; i++)
		end += request->iov[i].iov_len;
	return end;
}

static inline void far_note(struct far *far, uint64_t bytes, bool ahead)
{
	SCOPE_LOCK(&far->lock);
	far->asked++;
	far->bytes += bytes;
	far->ahead += ahead ? bytes : 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static inline int far_look(struct far *far, const struct iovec *given, int count, uint64_t offset,
			   uint64_t needed)
{
	uint64_t flip = atomic_load(&far->flip), end = offset;
	struct iovec iov[1024];
	int r;

	for (int i = 0; i < count; i++) {
		iov[i] = given[i];
		end += iov[i].iov_len;
	}
	far->reads++;
	if (offset <= far->bad && far->bad < end && far->bad)
		return -EIO;
	r = reader_read(far->near, iov, count, offset, needed);
	if (flip && offset <= flip && flip < end && atomic_exchange(&far->flip, 0))
		((char *)given->iov_base)[flip - offset] ^= 1;
	return atomic_load(&far->error) ?: r;
}

/* A reader may change the iov. */
static inline int far_read(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			   uint64_t needed)
{
	struct far *far = far_of(reader);
	int r;

	if (far->hurried)
		abort();
	far_note(far, needed, false);
	r = far_look(far, iov, count, offset, needed);
	memset(iov, 0, (size_t)count * sizeof(*iov));
	return r;
}

/* What `settle` may be: it is counted. */
static inline void far_settle(struct reader_request *request, bool right)
{
	struct far *far = request->settled;

	far->settled++;
	far->right += right;
}

/* A reader of several volumes changes the offset. */
static inline void far_answer(struct far *far, struct reader_request *request, bool cancelled)
{
	bool ahead = atomic_load(reader_ahead(request));
	int r = cancelled && ahead ? -ECANCELED : cancelled && far->fails ? -EIO : 0;

	if (r == 0)
		r = far_look(far, request->iov, request->count, request->offset, request->needed);
	far->awaited += cancelled && !ahead;
	pthread_mutex_lock(&far->lock);
	far->under_way--;
	pthread_mutex_unlock(&far->lock);
	request->settle = far->settle;
	request->settled = far;
	if (far->settle == far_settle)
		request->offset = UINT64_MAX;
	request->done(request->arg, r);
}

/* Any one, those that somebody waits for first. Lock held. */
static inline struct reader_request *far_choose(struct far *far)
{
	struct reader_request **link = &far->first, **chosen = NULL, *request;

	for (; *link; link = &(*link)->next) {
		bool ahead = atomic_load(reader_ahead(*link));

		if (!chosen || (!ahead && atomic_load(reader_ahead(*chosen))) ||
		    (ahead == atomic_load(reader_ahead(*chosen)) && rand_r(&far->seed) % 2))
			chosen = link;
	}
	if (!chosen || (far->held && !far->cancelled))
		return NULL;
	request = *chosen;
	*chosen = request->next;
	return request;
}

static inline void *far_thread(void *arg)
{
	struct far *far = arg;

	is_far_thread = true;
	SCOPE_LOCK(&far->lock);
	while (!far->freed) {
		struct reader_request *request = far_choose(far);
		bool cancelled = far->cancelled;

		if (!request) {
			pthread_cond_wait(&far->changed, &far->lock);
			continue;
		}
		pthread_mutex_unlock(&far->lock);
		far_answer(far, request, cancelled);
		pthread_mutex_lock(&far->lock);
	}
	return NULL;
}

/* The thread begins with the first request, as a test may fork before. */
static inline void far_submit(struct reader *reader, struct reader_request *request)
{
	struct far *far = far_of(reader);
	bool ahead = atomic_load(reader_ahead(request));

	far_note(far, request->needed, ahead);
	SCOPE_LOCK(&far->lock);
	request->next = far->first;
	far->first = request;
	far->under_way++;
	far->urgent += !ahead;
	if (!far->started && pthread_create(&far->thread, NULL, far_thread, far) != 0)
		abort();
	far->started = true;
	pthread_cond_broadcast(&far->changed);
}

static inline ssize_t far_get(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	struct far *far = far_of(reader);
	ssize_t n = reader_get(far->near, buf, len, offset);
	uint64_t end = offset + (n < 0 ? 0 : (size_t)n);

	far->reads++;
	if (offset < far->told_from || end > far->told_to)
		far_note(far, end - offset, false);
	if (offset <= far->bad && far->bad < end && far->bad)
		return -EIO;
	return atomic_load(&far->error) ?: n;
}

/* --- the rest --------------------------------------------------------------------------------- */

static inline void far_will_get(struct reader *reader, uint64_t offset, size_t len)
{
	far_note(far_of(reader), len, true);
	far_of(reader)->told_from = offset;
	far_of(reader)->told_to = offset + len;
}

static inline int far_prepare(struct reader *reader, enum reader_io io)
{
	return reader_prepare(far_of(reader)->near, io);
}

static inline void far_cancel(struct reader *reader)
{
	struct far *far = far_of(reader);

	SCOPE_LOCK(&far->lock);
	far->cancelled = !far->patient;
	pthread_cond_broadcast(&far->changed);
}

static inline int far_identity(struct reader *reader, struct reader_identity *ret)
{
	int r = reader_identity(far_of(reader)->near, ret);

	ret->written = far_of(reader)->written ?: ret->written;
	return r;
}

static inline void far_hints(const struct reader *reader, struct reader_hints *ret)
{
	bool far = !far_of(reader)->is_near;

	*ret = (struct reader_hints){.shared = far, .remote = far};
}

static inline void far_counts(const struct reader *reader, struct reader_counts *ret)
{
	*ret = reader_counts(far_of(reader)->near);
}

static inline void far_free(struct reader *reader)
{
	struct far *far = far_of(reader);

	pthread_mutex_lock(&far->lock);
	far->freed = true;
	pthread_cond_broadcast(&far->changed);
	pthread_mutex_unlock(&far->lock);
	if (far->started)
		pthread_join(far->thread, NULL);
	pthread_cond_destroy(&far->changed);
	pthread_mutex_destroy(&far->lock);
	if (far->owns)
		reader_free(far->near);
	free(far);
}

/* --- the test --------------------------------------------------------------------------------- */

/* From now on nothing ends, or all does, as it comes. */
static inline void far_hold(struct far *far, bool held)
{
	SCOPE_LOCK(&far->lock);
	far->held = held;
	pthread_cond_broadcast(&far->changed);
}

/* Requests that have not ended. */
static inline unsigned far_waiting(struct far *far)
{
	SCOPE_LOCK(&far->lock);
	return far->under_way;
}

/* Whether somebody waits for a request. */
static inline bool far_awaited(struct far *far)
{
	const struct reader_request *one;

	SCOPE_LOCK(&far->lock);
	one = far->first;
	while (one && atomic_load(reader_ahead(one)))
		one = one->next;
	return one;
}

static inline struct far *far_new(struct reader *near)
{
	static const struct reader_ops ops = {.prepare = far_prepare,
					      .read = far_read,
					      .submit = far_submit,
					      .cancel = far_cancel,
					      .get = far_get,
					      .will_get = far_will_get,
					      .identity = far_identity,
					      .hints = far_hints,
					      .counts = far_counts,
					      .free = far_free};
	struct far *far = calloc(1, sizeof(*far));

	if (!far)
		abort();
	far->ops = ops;
	far->reader.ops = &far->ops;
	far->near = near;
	far->seed = 3;
	pthread_mutex_init(&far->lock, NULL);
	pthread_cond_init(&far->changed, NULL);
	return far;
}
