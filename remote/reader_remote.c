#include "remote/curl.h"

#if REMOTE_CURL

#include "base/math.h"
#include "base/scope.h"
#include "remote/object.h"
#include "remote/reader_remote.h"
#include <string.h>

/* Bytes that all packs of a mount keep; what does not fit is read when it is asked for. */
#define KEPT_MOST ((uint64_t)512 << 20)

/* The reads of one caller that are under way. */
struct pending {
	pthread_mutex_t lock;
	pthread_cond_t none;
	unsigned reads; /* protected by lock */
	int error;	/* protected by lock: of the first read that failed */
};

/* Bytes of the object that were read ahead of reader_get(). */
struct kept {
	struct kept *next;
	struct pending pending;
	uint64_t offset;
	size_t len;
	unsigned takers;  /* protected by the reader's lock: how many copy from it */
	bool taken;	  /* protected by the reader's lock: freed by the last taker */
	bool is_end;	  /* the beginning or the end of the object, */
	struct iovec iov; /* where it comes, and how many bytes came */
	int64_t result;
	char data[];
};

struct reader_remote {
	struct reader reader;
	struct object *object;
	struct remote_settings once; /* those of a reader that asks for nothing again */
	struct remote *engine;
	pthread_mutex_t lock;
	struct kept *kept; /* protected by lock */
	/* Protected by the lock of the engine, which comes before the reader's: */
	struct reader_remote *newer; /* that keeps its ends, too */
	uint64_t ends;		     /* bytes of them; 0: they are not kept */
};

static struct reader_remote *remote_of(struct reader *reader)
{
	return (struct reader_remote *)reader;
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* One part of a read. */
struct part {
	struct pending *pending;
	struct iovec iov;
};

static void pending_init(struct pending *pending)
{
	*pending = (struct pending){0};
	pthread_mutex_init(&pending->lock, NULL);
	pthread_cond_init(&pending->none, NULL);
}

static void pending_release(struct pending *pending)
{
	pthread_cond_destroy(&pending->none);
	pthread_mutex_destroy(&pending->lock);
}

static void pending_add(struct pending *pending, unsigned reads)
{
	SCOPE_LOCK(&pending->lock);
	pending->reads += reads;
}

/* Signals under the lock: the waiter may free all of it right after. */
static void pending_end(struct pending *pending, int error)
{
	SCOPE_LOCK(&pending->lock);
	if (error < 0 && pending->error == 0)
		pending->error = error;
	if (--pending->reads == 0)
		pthread_cond_broadcast(&pending->none);
}

/* Returns 0 or -errno. */
static int pending_wait(struct pending *pending)
{
	SCOPE_LOCK(&pending->lock);
	while (pending->reads > 0)
		pthread_cond_wait(&pending->none, &pending->lock);
	return pending->error;
}

/* --- reading in parts ------------------------------------------------------------------------- */

static void part_done(void *arg, int64_t result)
{
	struct part *part = arg;
	struct pending *pending = part->pending;

	if (result >= 0 && (size_t)result < part->iov.iov_len)
		result = -ENODATA;
	free(part);
	pending_end(pending, result < 0 ? (int)result : 0);
}

/* Reads a range in parts, which are all asked for together. */
static void read_parts(struct reader_remote *remote, struct pending *pending, char *buf, size_t len,
		       uint64_t offset)
{
	size_t parts = (len + REMOTE_PART - 1) / REMOTE_PART;

	pending_add(pending, (unsigned)parts);
	for (size_t at = 0; at < len; at += REMOTE_PART) {
		size_t some = len - at < REMOTE_PART ? len - at : REMOTE_PART;
		struct object_range range = {.first = offset + at, .len = some};
		struct part *part = malloc(sizeof(*part));

		if (!part) {
			pending_end(pending, -ENOMEM);
			continue;
		}
		*part = (struct part){.pending = pending,
				      .iov = {.iov_base = buf + at, .iov_len = some}};
		object_get(remote->object, &part->iov, 1, &range, part_done, part);
	}
}

/* --- what is kept ----------------------------------------------------------------------------- */

static struct kept *kept_new(uint64_t offset, size_t len)
{
	struct kept *kept = malloc(sizeof(*kept) + len);

	if (!kept)
		return NULL;
	*kept = (struct kept){.offset = offset, .len = len};
	pending_init(&kept->pending);
	return kept;
}

/* NULL is fine. */
static void kept_free(struct kept *kept)
{
	if (!kept)
		return;
	pending_release(&kept->pending);
	free(kept);
}

static void keep(struct reader_remote *remote, struct kept *kept)
{
	SCOPE_LOCK(&remote->lock);
	kept->next = remote->kept;
	remote->kept = kept;
	atomic_fetch_add(&remote->engine->kept, kept->len);
}

/* Under the lock. */
static void unlink_kept(struct reader_remote *remote, struct kept *kept)
{
	struct kept **at = &remote->kept;

	while (*at != kept)
		at = &(*at)->next;
	*at = kept->next;
	atomic_fetch_sub(&remote->engine->kept, kept->len);
}

/* Finds what keeps all of these bytes, or will soon. */
static struct kept *kept_take(struct reader_remote *remote, uint64_t offset, size_t len)
{
	SCOPE_LOCK(&remote->lock);
	for (struct kept *kept = remote->kept; kept; kept = kept->next)
		if (offset >= kept->offset && offset + len <= kept->offset + kept->len) {
			kept->takers++;
			return kept;
		}
	return NULL;
}

/* The beginning and the end of the object are asked for again and again; a run that was announced,
 * once. */
static bool is_used_up(const struct reader_remote *remote, const struct kept *kept, uint64_t end)
{
	uint64_t last = kept->offset + kept->len;

	return end == last && kept->offset > 0 && last < object_size(remote->object);
}

static void kept_put(struct reader_remote *remote, struct kept *kept, bool used_up)
{
	bool last;

	pthread_mutex_lock(&remote->lock);
	if (used_up && !kept->taken) {
		kept->taken = true;
		unlink_kept(remote, kept);
	}
	last = --kept->takers == 0 && kept->taken;
	pthread_mutex_unlock(&remote->lock);
	if (last)
		kept_free(kept);
}

/* Returns 0, -ECANCELED (they are not kept), or why they could not be read. */
static int get_kept(struct reader_remote *remote, char *buf, size_t len, uint64_t offset)
{
	struct kept *kept = kept_take(remote, offset, len);
	int r;

	if (!kept)
		return -ECANCELED;
	r = pending_wait(&kept->pending);
	if (r == 0)
		memcpy(buf, kept->data + (offset - kept->offset), len);
	kept_put(remote, kept, r < 0 || is_used_up(remote, kept, offset + len));
	return r;
}

/* Called with the lock of the engine held. */
static void unlist_ends(struct reader_remote *remote)
{
	struct remote *engine = remote->engine;
	struct reader_remote **at = &engine->oldest, *before = NULL;

	while (*at != remote) {
		before = *at;
		at = &before->newer;
	}
	*at = remote->newer;
	if (engine->newest == remote)
		engine->newest = before;
	engine->ends -= remote->ends;
	remote->ends = 0;
}

/* Waits for what is still being read. */
static void forget_kept(struct reader_remote *remote)
{
	struct kept *kept;

	pthread_mutex_lock(&remote->engine->lock);
	if (remote->ends)
		unlist_ends(remote);
	pthread_mutex_unlock(&remote->engine->lock);
	while ((kept = remote->kept)) {
		unlink_kept(remote, kept);
		pending_wait(&kept->pending);
		kept_free(kept);
	}
}

/* Those who copy from one free it. */
static void forget_ends(struct reader_remote *remote)
{
	SCOPE_LOCK(&remote->lock);
	for (struct kept *kept = remote->kept, *next; kept; kept = next) {
		next = kept->next;
		if (!kept->is_end)
			continue;
		unlink_kept(remote, kept);
		kept->taken = true;
		if (kept->takers == 0)
			kept_free(kept);
	}
}

/* A thousand packs would keep a GiB. */
static void list_ends(struct reader_remote *remote)
{
	struct remote *engine = remote->engine;

	SCOPE_LOCK(&engine->lock);
	for (const struct kept *kept = remote->kept; kept; kept = kept->next)
		remote->ends += kept->len;
	if (engine->newest)
		engine->newest->newer = remote;
	else
		engine->oldest = remote;
	engine->newest = remote;
	engine->ends += remote->ends;
	while (engine->ends > REMOTE_ENDS && engine->oldest != remote) {
		struct reader_remote *oldest = engine->oldest;

		unlist_ends(oldest);
		forget_ends(oldest);
	}
}

/* --- operations ------------------------------------------------------------------------------- */

static int remote_prepare(struct reader *reader, enum reader_io io)
{
	(void)io;
	forget_kept(remote_of(reader));
	object_go_on(remote_of(reader)->object);
	return 0;
}

/* A reader_submit() on its way. */
struct submitted {
	struct reader *reader;
	struct reader_request *request;
	uint64_t len;
};

static void submitted_done(void *arg, int64_t result)
{
	struct submitted *submitted = arg;
	struct reader *reader = submitted->reader;
	struct reader_request *request = submitted->request;

	if (result >= 0 && (uint64_t)result < submitted->len)
		result = -ENODATA;
	free(submitted);
	if (result < 0) {
		atomic_fetch_add_explicit(&reader->errors, 1, memory_order_relaxed);
	} else {
		atomic_fetch_add_explicit(&reader->reads, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&reader->bytes, (uint64_t)result, memory_order_relaxed);
	}
	request->done(request->arg, result < 0 ? (int)result : 0);
}

static void remote_submit(struct reader *reader, struct reader_request *request)
{
	struct reader_remote *remote = remote_of(reader);
	uint64_t size = object_size(remote->object), len = 0;
	struct object_range range = {.first = request->offset, .ahead = reader_ahead(request)};
	struct submitted *submitted = malloc(sizeof(*submitted));

	for (int i = 0; i < request->count; i++)
		len += request->iov[i].iov_len;
	range.len = min(len, sub_sat(size, request->offset));
	if (!submitted || range.len == 0 || range.len < request->needed) {
		free(submitted);
		request->done(request->arg, submitted ? -ENODATA : -ENOMEM);
		return;
	}
	*submitted = (struct submitted){.reader = reader, .request = request, .len = range.len};
	object_get(remote->object, request->iov, request->count, &range, submitted_done, submitted);
}

static void remote_cancel(struct reader *reader)
{
	object_cancel(remote_of(reader)->object);
}

static ssize_t remote_get(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	struct reader_remote *remote = remote_of(reader);
	struct pending pending SCOPE(pending_release);
	uint64_t size = object_size(remote->object);
	int r;

	pending_init(&pending);
	if (offset >= size)
		return 0;
	if (len > size - offset)
		len = (size_t)(size - offset);
	r = get_kept(remote, buf, len, offset);
	if (r == -ECANCELED) {
		read_parts(remote, &pending, buf, len, offset);
		r = pending_wait(&pending);
	}
	return r < 0 ? r : (ssize_t)len;
}

static void remote_will_get(struct reader *reader, uint64_t offset, size_t len)
{
	struct reader_remote *remote = remote_of(reader);
	uint64_t size = object_size(remote->object);
	struct kept *kept;
	bool fits;

	if (offset >= size)
		return;
	if (len > size - offset)
		len = (size_t)(size - offset);
	kept = kept_take(remote, offset, len);
	if (kept) {
		kept_put(remote, kept, false);
		return;
	}
	fits = len <= sub_sat(KEPT_MOST, atomic_load(&remote->engine->kept));
	kept = fits ? kept_new(offset, len) : NULL;
	if (!kept)
		return;
	read_parts(remote, &kept->pending, kept->data, len, offset);
	keep(remote, kept);
}

/* Asking again may help: the server, or a proxy, may have made a mistake. */
static bool remote_bad(struct reader *reader, uint64_t offset, uint64_t len)
{
	(void)offset;
	(void)len;
	return !object_is_stale(remote_of(reader)->object);
}

static int remote_identity(struct reader *reader, struct reader_identity *ret)
{
	object_identity(remote_of(reader)->object, ret);
	return 0;
}

static void remote_hints(const struct reader *reader, struct reader_hints *ret)
{
	(void)reader;
	*ret = (struct reader_hints){.remote = true, .direct = true, .far = true};
}

static void remote_stats(struct reader *reader, struct reader_stats *ret)
{
	object_stats(remote_of(reader)->object, ret);
}

static void remote_rest(struct reader *reader)
{
	object_rest(remote_of(reader)->object);
}

static void remote_free(struct reader *reader)
{
	struct reader_remote *remote = remote_of(reader);

	object_rest(remote->object);
	forget_kept(remote);
	object_free(remote->object);
	pthread_mutex_destroy(&remote->lock);
	free(remote);
}

static const struct reader_ops remote_ops = {
	.prepare = remote_prepare,
	.read = reader_submit_and_wait,
	.submit = remote_submit,
	.cancel = remote_cancel,
	.get = remote_get,
	.will_get = remote_will_get,
	.identity = remote_identity,
	.hints = remote_hints,
	.bad = remote_bad,
	.rest = remote_rest,
	.stats = remote_stats,
	.free = remote_free,
};

/* --- opening ---------------------------------------------------------------------------------- */

static void end_done(void *arg, int64_t result)
{
	struct kept *end = arg;

	end->result = result;
	pending_end(&end->pending, 0);
}

static void ask_for_end(struct reader_remote *remote, struct kept *end, bool suffix)
{
	const struct object_range range = {.len = end->len, .suffix = suffix};

	end->is_end = true;
	end->iov = (struct iovec){.iov_base = end->data, .iov_len = end->len};
	pending_add(&end->pending, 1);
	object_get(remote->object, &end->iov, 1, &range, end_done, end);
}

/* Returns how many bytes came, or -errno. NULL is fine: it was not asked for. */
static int64_t keep_end(struct reader_remote *remote, struct kept *end, bool suffix)
{
	int64_t result = 0;

	if (end) {
		pending_wait(&end->pending);
		result = end->result;
	}
	if (result <= 0) {
		kept_free(end);
		return result;
	}
	end->len = (size_t)result;
	end->offset = suffix ? object_size(remote->object) - end->len : 0;
	keep(remote, end);
	return result;
}

/* Some servers do not know suffix ranges, so only a failure at the beginning counts. */
static int get_ends(struct reader_remote *remote, bool whole, struct err *err)
{
	struct kept *head = kept_new(0, whole ? REMOTE_PART : REMOTE_HEAD);
	struct kept *tail = whole ? NULL : kept_new(0, REMOTE_TAIL);
	int64_t result;

	if (!head || (!whole && !tail)) {
		kept_free(head);
		kept_free(tail);
		return -ENOMEM;
	}
	ask_for_end(remote, head, false);
	if (tail)
		ask_for_end(remote, tail, true);
	result = keep_end(remote, head, false);
	if (result < 0)
		object_why(remote->object, err);
	keep_end(remote, tail, true);
	return result < 0 ? (int)result : 0;
}

int reader_remote_open(const char *shown, struct object_auth *auth, unsigned how,
		       const struct remote_settings *settings, struct remote *engine,
		       struct reader **ret, struct err *err)
{
	struct reader_remote *remote = calloc(1, sizeof(*remote));
	struct err why = {0};
	int r;

	if (!remote) {
		auth->ops->free(auth);
		return -ENOMEM;
	}
	remote->reader.ops = &remote_ops;
	remote->engine = engine;
	pthread_mutex_init(&remote->lock, NULL);
	if (how & READER_ONCE) {
		remote->once = *settings;
		remote->once.retry = 0;
		settings = &remote->once;
	}
	r = object_new(shown, auth, settings, engine, &remote->object, err);
	if (r < 0) {
		pthread_mutex_destroy(&remote->lock);
		free(remote);
		return r;
	}
	r = get_ends(remote, how & READER_WHOLE, &why);
	if (r < 0) {
		remote_free(&remote->reader);
		return err_set(err, r, "%s", err_text(&why, r));
	}
	if (!(how & READER_WHOLE))
		list_ends(remote);
	*ret = &remote->reader;
	return 0;
}

#endif
