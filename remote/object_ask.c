/* What an object is asked for, and whether an answer is taken: of the right range, and of the same
 * object. */
#include "base/clock.h"
#include "base/scope.h"
#include "remote/object.h"
#include "remote/retry.h"
#include "remote/url.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

/* --- the same object -------------------------------------------------------------------------- */

static size_t before_query(const char *url)
{
	return strcspn(url, "?#");
}

/* Whether the tags are of the URL that is asked now. Without a beginning to compare, they are what
 * there is. */
static bool tags_count(const struct object *object)
{
	const struct object_tags *tags = &object->tags;
	const char *url = object_url(object);
	size_t len = before_query(url);

	return (tags->url && strncmp(tags->url, url, len) == 0 && tags->url[len] == '\0') ||
	       (!object->vouched && tags->head_len == 0);
}

/* Adds the header of a request to a URL that gave the tags, if there is one. Returns 1 (it was
 * added), 0 or -ENOMEM. */
static int add_condition(const struct object_tags *tags, const struct http_message *to)
{
	int r = 0;

	if (retry_etag_is_strong(tags->etag))
		r = header_add(to->headers, "If-Match: %s", tags->etag);
	else if (*tags->modified)
		r = header_add(to->headers, "If-Unmodified-Since: %s", tags->modified);
	else
		return 0;
	return r < 0 ? r : 1;
}

/* The first range that arrives says which object it is; then the first of a URL that is known to
 * have it says how it is told apart there. What a request from before a turn brings says neither.
 */
int object_take_tags(struct object *object, const char *headers, uint64_t total)
{
	struct object_tags *tags = &object->tags;
	const char *name;
	char *url = strndup(object_url(object), before_query(object_url(object)));

	if (!url)
		return -ENOMEM;
	free(tags->url);
	tags->url = url;
	if (!header_find(headers, "ETag", tags->etag, TAGS_TEXT))
		*tags->etag = '\0';
	if (!header_find(headers, "Last-Modified", tags->modified, TAGS_TEXT))
		*tags->modified = '\0';
	object->plain = false;
	if (is_object_open(object))
		return 0;
	name = *tags->linked			  ? tags->linked
	       : retry_etag_is_strong(tags->etag) ? tags->etag
						  : tags->modified;
	object->named = *name ? XXH3_64bits(name, strlen(name)) : 0;
	object->modified = header_time(tags->modified) * CLOCK_SECOND;
	atomic_store(&object->size, total);
	return 0;
}

/* --- asking ----------------------------------------------------------------------------------- */

/* A proxy would see what is meant for this machine itself. */
int object_sign(struct object_auth *auth, struct http_message *message, struct err *err)
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
	return auth->ops->sign(auth, &url, message->headers, err);
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

static int make_own_url(struct object *object)
{
	const struct object_auth *auth = object->auth;

	if (object->url && object->moves == auth->moves)
		return 0;
	free(object->url);
	object->moves = auth->moves;
	if (asprintf(&object->url, "%s%s", auth->url, object->path) >= 0)
		return 0;
	object->url = NULL;
	return -ENOMEM;
}

/* What the message asks for, and of whom. */
static int ask(struct object_read *read, struct http_message *message)
{
	struct object *object = read->object;
	struct object_range range;
	int r = make_own_url(object);
	bool count;

	if (r < 0)
		return r;
	count = tags_count(object);
	read->turn = object_turn(object);
	read->redirected = object->redirect;
	message->url = object_url(object);
	if (is_object_open(object) && !count && !object->vouched)
		r = begin_look(read);
	if (read->range.suffix)
		read->transfer.got = 0;
	range = range_now(read);
	if (range.suffix)
		snprintf(read->text, OBJECT_RANGE, "-%" PRIu64, range.len);
	else
		snprintf(read->text, OBJECT_RANGE, "%" PRIu64 "-%" PRIu64,
			 range.first + read->transfer.got, range.first + range.len - 1);
	message->range = read->text;
	if (r == 0 && count && !object->plain)
		r = add_condition(&object->tags, message);
	read->conditional = r == 1;
	if (r >= 0)
		r = object_sign(object->auth, message, &read->why);
	if (r == 0 && !read->begun)
		read->begun = clock_ns();
	return r;
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
	r = ask(read, ret);
	if (r < 0)
		object_end_look(read);
	if (r == -EAGAIN && !atomic_load(&object->group->cancelled))
		return r;
	if (r == -EAGAIN) /* nobody waits any more */
		r = err_set(&read->why, -ECANCELED, "no credentials");
	read->error = r;
	return r;
}

/* --- the answer ------------------------------------------------------------------------------- */

bool object_accept(struct http_transfer *transfer, unsigned status, const char *headers)
{
	struct object_read *read = read_of(transfer);
	struct object *object = read->object;
	bool now = read->turn == object_turn(object), count = now && tags_count(object);
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
