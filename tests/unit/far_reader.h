/* A reader of storage that is far: what is submitted is under way until the test lets it end, and
 * ends in any order. What it reads comes from another
 * reader, in the reader's only thread. */
#pragma once

#include "base/reader.h"
#include "base/scope.h"
#include <errno.h>
#include <stdlib.h>

struct far_reader {
	struct reader reader;
	struct reader *near; /* borrowed */
	pthread_t thread;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Protected by lock: */
	struct reader_request *first; /* the latest first */
	unsigned under_way, most, urgent, ended;
	uint64_t bad; /* reads of this byte fail; 0: none */
	bool open, cancelled, freed;
	bool patient;						    /* knows no cancelling */
	void (*settle)(struct reader_request *request, bool right); /* NULL: nothing to do */
	unsigned seed;
};

/* The test's thread is another one: what runs in the reader's must be short. */
static _Thread_local bool is_far_thread;

static inline struct far_reader *far_of(struct reader *reader)
{
	return (struct far_reader *)reader;
}

static inline uint64_t far_end(const struct reader_request *request)
{
	uint64_t end = request->offset;

	for (int i = 0; i < request->count; i++)
		end += request->iov[i].iov_len;
	return end;
}

/* Any one, those that somebody waits for first. Lock held. */
static inline struct reader_request *far_choose(struct far_reader *far)
{
	struct reader_request **link = &far->first, **chosen = NULL;

	for (; *link; link = &(*link)->next)
		if (!chosen || (!(*link)->ahead && (*chosen)->ahead) ||
		    ((*link)->ahead == (*chosen)->ahead && rand_r(&far->seed) % 2))
			chosen = link;
	if (chosen) {
		struct reader_request *request = *chosen;

		*chosen = request->next;
		return request;
	}
	return NULL;
}

/* Lock held. */
static inline int far_fate(const struct far_reader *far, const struct reader_request *request)
{
	if (far->cancelled && request->ahead)
		return -ECANCELED;
	return far->bad && request->offset <= far->bad && far_end(request) > far->bad ? -EIO : 0;
}

static inline void far_end_one(struct far_reader *far, struct reader_request *request)
{
	int r = far_fate(far, request);
	struct iovec iov[1024];

	pthread_mutex_unlock(&far->lock);
	for (int i = 0; i < request->count; i++)
		iov[i] = request->iov[i];
	if (r == 0)
		r = reader_read(far->near, iov, request->count, request->offset, request->needed);
	pthread_mutex_lock(&far->lock);
	far->under_way--;
	far->ended++;
	pthread_mutex_unlock(&far->lock);
	request->settle = far->settle;
	request->done(request->arg, r);
	pthread_mutex_lock(&far->lock);
}

static inline void *far_thread(void *arg)
{
	struct far_reader *far = arg;

	is_far_thread = true;
	SCOPE_LOCK(&far->lock);
	while (!far->freed) {
		struct reader_request *request =
			far->open || far->cancelled ? far_choose(far) : NULL;

		if (request)
			far_end_one(far, request);
		else
			pthread_cond_wait(&far->changed, &far->lock);
	}
	return NULL;
}

static inline int far_prepare(struct reader *reader, enum reader_io io)
{
	return reader_prepare(far_of(reader)->near, io);
}

static inline int far_read(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			   uint64_t needed)
{
	(void)reader, (void)iov, (void)count, (void)offset, (void)needed;
	abort(); /* a thread would wait for a round trip */
}

static inline void far_submit(struct reader *reader, struct reader_request *request)
{
	struct far_reader *far = far_of(reader);

	SCOPE_LOCK(&far->lock);
	request->next = far->first;
	far->first = request;
	far->urgent += !request->ahead;
	if (++far->under_way > far->most)
		far->most = far->under_way;
	pthread_cond_broadcast(&far->changed);
}

static inline void far_cancel(struct reader *reader)
{
	struct far_reader *far = far_of(reader);

	SCOPE_LOCK(&far->lock);
	far->cancelled = !far->patient;
	pthread_cond_broadcast(&far->changed);
}

static inline void far_hints(const struct reader *reader, struct reader_hints *ret)
{
	(void)reader;
	*ret = (struct reader_hints){.shared = true, .remote = true};
}

static inline void far_counts(const struct reader *reader, struct reader_counts *ret)
{
	*ret = reader_counts(((const struct far_reader *)reader)->near);
}

static inline void far_free(struct reader *reader)
{
	struct far_reader *far = far_of(reader);

	pthread_mutex_lock(&far->lock);
	far->freed = true;
	pthread_cond_broadcast(&far->changed);
	pthread_mutex_unlock(&far->lock);
	pthread_join(far->thread, NULL);
	pthread_cond_destroy(&far->changed);
	pthread_mutex_destroy(&far->lock);
	free(far);
}

static const struct reader_ops far_ops = {
	.prepare = far_prepare,
	.read = far_read,
	.submit = far_submit,
	.cancel = far_cancel,
	.hints = far_hints,
	.counts = far_counts,
	.free = far_free,
};

/* Everything ends at once, or in its time, from now on; or nothing does. */
static inline void far_open(struct far_reader *far, bool open)
{
	SCOPE_LOCK(&far->lock);
	far->open = open;
	pthread_cond_broadcast(&far->changed);
}

static inline void far_damage(struct far_reader *far, uint64_t byte)
{
	SCOPE_LOCK(&far->lock);
	far->bad = byte;
}

static inline struct far_reader *far_new(struct reader *near)
{
	struct far_reader *far = calloc(1, sizeof(*far));

	if (!far)
		abort();
	far->reader.ops = &far_ops;
	far->near = near;
	far->seed = 3;
	far->open = true;
	pthread_mutex_init(&far->lock, NULL);
	pthread_cond_init(&far->changed, NULL);
	if (pthread_create(&far->thread, NULL, far_thread, far) != 0)
		abort();
	return far;
}
