/* What an object is asked for, and whether an answer is taken: of the right range, and of the same
 * object. */
#include "remote/curl.h"

#if REMOTE_CURL

#include "base/clock.h"
#include "base/scope.h"
#include "remote/object_internal.h"
#include "remote/retry.h"
#include "remote/url.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

/* --- asking ----------------------------------------------------------------------------------- */

/* Whether the tags are of the URL that is asked now. Without a beginning to compare, they are what
 * there is. */
static bool tags_count(const struct object *object)
{
	return object_tags_are_of(&object->tags, object_url(object)) ||
	       (!object->vouched && object->tags.head_len == 0);
}

/* Secrets go to the server of the object's own URL only. A proxy would see what is meant for this
 * machine itself. */
static int sign(struct object_auth *auth, struct http_message *message)
{
	struct url url SCOPE(url_release) = {0};
	struct url first SCOPE(url_release) = {0};
	int r = url_parse(message->url, &url);

	if (r == 0)
		r = url_parse(auth->url, &first);
	message->direct = r == 0 && url_is_here(&url);
	if (r < 0 || !url_same_server(&url, &first))
		return r;
	message->netrc = auth->netrc;
	return auth->ops->sign(auth, &url, message->add, message->context);
}

/* Returns as object_refresh_look(); nobody waits any more for a read that was cancelled. */
static int look_at_credentials(const struct object *object, struct err *err)
{
	struct object_refresh *refresh = object->auth->refresh;
	int r = refresh ? object_refresh_look(refresh, err) : 0;

	return r == -EAGAIN && atomic_load(&object->cancelled)
		       ? err_set(err, -ECANCELED, "no credentials")
		       : r;
}

static int begin_look(struct object_read *read)
{
	size_t len = read->object->tags.head_len;

	read->look = (struct iovec){.iov_base = malloc(len), .iov_len = len};
	if (!read->look.iov_base)
		return -ENOMEM;
	read->had = read->transfer.got;
	read->had_expected = read->expected;
	read->transfer.got = 0;
	read->transfer.iov = &read->look;
	read->transfer.count = 1;
	return 0;
}

void object_end_look(struct object_read *read)
{
	if (!read->look.iov_base)
		return;
	free(read->look.iov_base);
	read->look.iov_base = NULL;
	read->transfer.iov = read->iov;
	read->transfer.count = read->count;
	read->transfer.got = read->had;
	read->expected = read->had_expected;
}

static struct object_range range_now(const struct object_read *read)
{
	return read->look.iov_base ? (struct object_range){.len = read->look.iov_len} : read->range;
}

static void write_range(struct object_read *read)
{
	const struct object_range range = range_now(read);

	if (range.suffix)
		snprintf(read->text, OBJECT_RANGE, "-%" PRIu64, range.len);
	else
		snprintf(read->text, OBJECT_RANGE, "%" PRIu64 "-%" PRIu64,
			 range.first + read->transfer.got, range.first + range.len - 1);
}

/* What the message asks for, and of whom. */
static int ask(struct object_read *read, struct http_message *message)
{
	struct object *object = read->object;
	bool count = tags_count(object);
	int r = 0;

	if (!read->begun)
		read->begun = clock_ns();
	read->turn = object->turn;
	read->redirected = object->redirect;
	message->url = object_url(object);
	if (is_object_open(object) && !count && !object->vouched)
		r = begin_look(read);
	if (read->range.suffix)
		read->transfer.got = 0;
	write_range(read);
	message->range = read->text;
	if (r == 0 && count && !object->plain)
		r = object_tags_condition(&object->tags, message->add, message->context);
	read->conditional = r == 1;
	return r < 0 ? r : sign(object->auth, message);
}

int object_prepare(struct http_transfer *transfer, struct http_message *ret)
{
	struct object_read *read = read_of(transfer);
	struct object *object = read->object;
	int r;

	read->error = 0;
	read->conditional = read->accepted = false;
	read->why = (struct err){0};
	if (atomic_load(&object->stale))
		return -ESTALE;
	r = look_at_credentials(object, &read->why);
	if (r == -EAGAIN)
		return r;
	if (r == 0)
		r = ask(read, ret);
	if (r < 0)
		object_end_look(read);
	read->error = r;
	return r;
}

/* --- the answer ------------------------------------------------------------------------------- */

/* The first range that arrives says which object it is; then the first of a URL that is known to
 * have it says how it is told apart there. What a request from before a turn brings says neither.
 */
int object_take_tags(struct object *object, const char *headers, uint64_t total)
{
	struct object_tags *tags = &object->tags;
	int r = object_tags_take(tags, object_url(object), headers);

	if (r < 0)
		return r;
	object->plain = false;
	if (!is_object_open(object)) {
		const char *name = object_tags_name(tags);

		object->named = *name ? XXH3_64bits(name, strlen(name)) : 0;
		object->modified = header_time(tags->modified) * CLOCK_SECOND;
		atomic_store(&object->size, total);
	}
	return 0;
}

bool object_accept(struct http_transfer *transfer, unsigned status, const char *headers)
{
	struct object_read *read = read_of(transfer);
	struct object *object = read->object;
	bool now = read->turn == object->turn, count = now && tags_count(object);
	const struct object_range range = range_now(read);
	struct content_range got;
	const struct retry_range asked = {.first = range.first + transfer->got,
					  .len = range.len - transfer->got,
					  .suffix = range.suffix,
					  .total = atomic_load(&object->size),
					  .etag = count ? object->tags.etag : "",
					  .modified = count ? object->tags.modified : "",
					  .tagged = object->plain};

	if (!retry_is_range(status, headers))
		return false;
	if (!now && !read->conditional) {
		read->error = -EAGAIN; /* neither that server nor we know that it is the same */
		return false;
	}
	read->error = retry_check_range(headers, &asked, &got, &read->why);
	if (read->error == 0 && now && (!is_object_open(object) || (!count && object->vouched)))
		read->error = object_take_tags(object, headers, got.total);
	read->accepted = read->error == 0;
	if (read->accepted)
		read->expected = transfer->got + got.last - got.first + 1;
	return read->accepted;
}

#endif
