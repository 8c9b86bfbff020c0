#include "remote/reader_remote.h"
#include "base/math.h"
#include "base/scope.h"
#include "remote/object.h"
#include <string.h>

/* Bytes that all packs of a mount keep; what does not fit is read when it is asked for. */
#define KEPT_MOST ((uint64_t)512 << 20)

/* Bytes of the object, which are asked for in parts: for one reader_get(), or ahead of some. All
 * but the first three is protected by the reader's lock. */
struct kept {
	uint64_t offset;
	char *data;
	bool is_end; /* the beginning or the end of the object: `len` is what came of it */
	size_t len;
	unsigned parts; /* under way */
	int error;	/* of the first that failed, */
	struct err why; /* and its reason */
	struct kept *next;
	unsigned takers; /* how many copy from it, */
	bool taken;	 /* of whom the last one frees it */
	char room[];
};

struct reader_remote {
	struct reader reader;
	struct object_auth *auth;
	struct object_group *group;
	struct object *object;
	struct remote_settings once; /* those of a reader that asks for nothing again */
	struct remote *engine;	     /* its lock comes before the reader's */
	pthread_mutex_t lock;
	pthread_cond_t come; /* all parts of something have */
	struct kept *kept;   /* protected by lock */
};

static struct reader_remote *remote_of(struct reader *reader)
{
	return (struct reader_remote *)reader;
}

/* --- reading in parts ------------------------------------------------------------------------- */

struct part {
	struct reader_remote *remote;
	struct kept *of;
	struct iovec iov;
};

/* Signals under the lock: the waiter may free what is kept right after. */
static void part_done(void *arg, int64_t result, const struct err *why)
{
	struct part part = *(struct part *)arg;

	free(arg);
	SCOPE_LOCK(&part.remote->lock);
	if (part.of->is_end)
		part.of->len = result < 0 ? 0 : (size_t)result;
	if (result < 0 && part.of->error == 0) {
		part.of->error = (int)result;
		part.of->why = *why;
	}
	if (--part.of->parts == 0)
		pthread_cond_broadcast(&part.remote->come);
}

static void ask_for_part(struct reader_remote *remote, struct kept *of, char *buf,
			 const struct object_range *range)
{
	struct part *part = malloc(sizeof(*part));

	pthread_mutex_lock(&remote->lock);
	if (part)
		of->parts++;
	else
		of->error = -ENOMEM;
	pthread_mutex_unlock(&remote->lock);
	if (!part)
		return;
	*part = (struct part){
		.remote = remote, .of = of, .iov = {.iov_base = buf, .iov_len = range->len}};
	object_get(remote->object, &part->iov, 1, range, part_done, part);
}

/* All parts are asked for together. */
static void ask_for_all(struct reader_remote *remote, struct kept *kept)
{
	for (size_t at = 0; at < kept->len; at += REMOTE_PART) {
		const struct object_range range = {.first = kept->offset + at,
						   .len = min(kept->len - at, REMOTE_PART)};

		ask_for_part(remote, kept, kept->data + at, &range);
	}
}

/* Returns 0 or -errno. Called with the lock held. */
static int await(struct reader_remote *remote, const struct kept *kept)
{
	while (kept->parts > 0)
		pthread_cond_wait(&remote->come, &remote->lock);
	return kept->error;
}

/* --- what is kept ----------------------------------------------------------------------------- */

/* NULL: no memory. */
static struct kept *kept_new(uint64_t offset, size_t len)
{
	struct kept *kept = malloc(sizeof(*kept) + len);

	if (kept)
		*kept = (struct kept){.offset = offset, .data = kept->room, .len = len};
	return kept;
}

static void keep(struct reader_remote *remote, struct kept *kept)
{
	SCOPE_LOCK(&remote->lock);
	kept->next = remote->kept;
	remote->kept = kept;
	atomic_fetch_add(&remote->engine->kept, kept->len);
}

/* The next three are called with the lock held. Finds what keeps all of these bytes, or will soon.
 */
static struct kept *find_kept(const struct reader_remote *remote, uint64_t offset, size_t len)
{
	struct kept *kept = remote->kept;

	while (kept && !(offset >= kept->offset && offset + len <= kept->offset + kept->len))
		kept = kept->next;
	return kept;
}

static void unlink_kept(struct reader_remote *remote, struct kept *kept)
{
	struct kept **at = &remote->kept;

	while (*at != kept)
		at = &(*at)->next;
	*at = kept->next;
	kept->taken = true;
	atomic_fetch_sub(&remote->engine->kept, kept->len);
}

static void free_taken(struct kept *kept)
{
	if (kept->taken && kept->takers == 0)
		free(kept);
}

/* The beginning and the end of the object are asked for again and again; a run that was announced,
 * once. Returns 0, -ECANCELED (the bytes are not kept), or why they could not be read. */
static int get_kept(struct reader_remote *remote, char *buf, size_t len, uint64_t offset)
{
	struct kept *kept;
	uint64_t last;
	int r;

	SCOPE_LOCK(&remote->lock);
	kept = find_kept(remote, offset, len);
	if (!kept)
		return -ECANCELED;
	kept->takers++;
	r = await(remote, kept);
	pthread_mutex_unlock(&remote->lock);
	if (r == 0)
		memcpy(buf, kept->data + (offset - kept->offset), len);
	pthread_mutex_lock(&remote->lock);
	kept->takers--;
	last = kept->offset + kept->len;
	if (!kept->taken && (r < 0 || (offset + len == last && kept->offset > 0 &&
				       last < object_size(remote->object))))
		unlink_kept(remote, kept);
	free_taken(kept);
	return r;
}

/* Those who copy from one free it. Waits for what is still being read. */
static void forget_kept(struct reader_remote *remote, bool ends_only)
{
	SCOPE_LOCK(&remote->lock);
	for (struct kept *kept = remote->kept, *next; kept; kept = next) {
		next = kept->next;
		if (ends_only && !kept->is_end)
			continue;
		unlink_kept(remote, kept);
		await(remote, kept);
		free_taken(kept);
	}
}

/* A thousand packs would keep a GiB. */
static void list_ends(struct reader_remote *remote)
{
	struct remote *engine = remote->engine;
	struct reader_remote **place;

	SCOPE_LOCK(&engine->lock);
	place = &engine->ends[engine->opened++ % REMOTE_ENDS];
	if (*place)
		forget_kept(*place, true);
	*place = remote;
}

static void unlist_ends(struct reader_remote *remote)
{
	struct remote *engine = remote->engine;

	SCOPE_LOCK(&engine->lock);
	for (unsigned i = 0; i < REMOTE_ENDS; i++)
		if (engine->ends[i] == remote)
			engine->ends[i] = NULL;
}

/* --- operations ------------------------------------------------------------------------------- */

static int remote_prepare(struct reader *reader, enum reader_io io)
{
	(void)io;
	unlist_ends(remote_of(reader));
	forget_kept(remote_of(reader), false);
	atomic_store(&remote_of(reader)->group->cancelled, false);
	return 0;
}

/* A reader_submit() on its way. */
struct submitted {
	struct reader *reader;
	struct reader_request *request;
};

static void submitted_done(void *arg, int64_t result, const struct err *why)
{
	struct submitted *submitted = arg;
	struct reader *reader = submitted->reader;
	struct reader_request *request = submitted->request;

	(void)why;
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
	*submitted = (struct submitted){.reader = reader, .request = request};
	object_get(remote->object, request->iov, request->count, &range, submitted_done, submitted);
}

static void remote_cancel(struct reader *reader)
{
	struct object_group *group = remote_of(reader)->group;

	atomic_store(&group->cancelled, true);
	http_cancel(group->notice.client);
}

static ssize_t remote_get(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	struct reader_remote *remote = remote_of(reader);
	uint64_t size = object_size(remote->object);
	struct kept mine = {.offset = offset, .data = buf};
	int r;

	if (offset >= size)
		return 0;
	if (len > size - offset)
		len = (size_t)(size - offset);
	r = get_kept(remote, buf, len, offset);
	if (r == -ECANCELED) {
		mine.len = len;
		ask_for_all(remote, &mine);
		SCOPE_LOCK(&remote->lock);
		r = await(remote, &mine);
	}
	return r < 0 ? r : (ssize_t)len;
}

static void remote_will_get(struct reader *reader, uint64_t offset, size_t len)
{
	struct reader_remote *remote = remote_of(reader);
	uint64_t size = object_size(remote->object);
	struct kept *kept;

	if (offset >= size)
		return;
	if (len > size - offset)
		len = (size_t)(size - offset);
	pthread_mutex_lock(&remote->lock);
	kept = find_kept(remote, offset, len);
	pthread_mutex_unlock(&remote->lock);
	if (kept || len > sub_sat(KEPT_MOST, atomic_load(&remote->engine->kept)))
		return;
	kept = kept_new(offset, len);
	if (!kept)
		return;
	ask_for_all(remote, kept);
	keep(remote, kept);
}

/* Asking again may help: the server, or a proxy, may have made a mistake. */
static bool remote_bad(struct reader *reader, uint64_t offset, uint64_t len)
{
	(void)offset;
	(void)len;
	return !atomic_load(&remote_of(reader)->object->stale);
}

static int remote_identity(struct reader *reader, struct reader_identity *ret)
{
	const struct object *object = remote_of(reader)->object;
	bool stale = atomic_load(&object->stale);

	*ret = (struct reader_identity){
		.size = object_size(object), .written = stale, .touched = stale};
	if (is_object_open(object)) {
		ret->object = object->named;
		ret->written += object->modified;
	}
	return 0;
}

static void remote_hints(const struct reader *reader, struct reader_hints *ret)
{
	(void)reader;
	*ret = (struct reader_hints){.shared = true, .direct = true, .remote = true};
}

static void remote_stats(struct reader *reader, struct reader_stats *ret)
{
	object_group_stats(remote_of(reader)->group, ret);
}

static void remote_rest(struct reader *reader)
{
	http_end(remote_of(reader)->group->notice.client);
}

static void remote_free(struct reader *reader)
{
	struct reader_remote *remote = remote_of(reader);

	unlist_ends(remote);
	if (remote->group)
		http_end(remote->group->notice.client);
	forget_kept(remote, false);
	object_free(remote->object);
	object_group_free(remote->group);
	remote->auth->ops->free(remote->auth);
	pthread_cond_destroy(&remote->come);
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

/* NULL: no memory. */
static struct kept *ask_for_end(struct reader_remote *remote, size_t len, bool suffix)
{
	const struct object_range range = {.len = len, .suffix = suffix, .some = true};
	struct kept *end = kept_new(0, len);

	if (!end)
		return NULL;
	end->is_end = true;
	ask_for_part(remote, end, end->data, &range);
	return end;
}

/* Returns 0 or -errno. NULL is fine. */
static int keep_end(struct reader_remote *remote, struct kept *end, bool suffix, struct err *err)
{
	int r;

	if (!end)
		return -ENOMEM;
	pthread_mutex_lock(&remote->lock);
	r = await(remote, end);
	pthread_mutex_unlock(&remote->lock);
	if (r < 0 || end->len == 0) {
		*err = end->why;
		free(end);
		return r;
	}
	end->offset = suffix ? object_size(remote->object) - end->len : 0;
	keep(remote, end);
	return 0;
}

/* Some servers do not know suffix ranges, so only a failure at the beginning counts. */
static int get_ends(struct reader_remote *remote, bool whole, struct err *err)
{
	struct kept *head = ask_for_end(remote, whole ? REMOTE_PART : REMOTE_HEAD, false);
	struct kept *tail = whole ? NULL : ask_for_end(remote, REMOTE_TAIL, true);
	int r = keep_end(remote, head, false, err);

	keep_end(remote, tail, true, &(struct err){0});
	return r;
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
	remote->auth = auth;
	remote->engine = engine;
	pthread_mutex_init(&remote->lock, NULL);
	pthread_cond_init(&remote->come, NULL);
	if (how & READER_ONCE) {
		remote->once = *settings;
		remote->once.retry = 0;
		settings = &remote->once;
	}
	r = object_group_new(shown, auth->url, settings, engine, &remote->group, &why);
	if (r == 0)
		r = object_new(remote->group, auth, "", &remote->object);
	if (r == 0)
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
