#include "remote/s3_list.h"
#include "base/name.h"
#include "base/scope.h"
#include "remote/answer.h"
#include "remote/encode.h"
#include "remote/listing.h"
#include "remote/s3.h"
#include "remote/url.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define TIMEOUT_MS 30000
#define HEADERS	   8
#define ANY_KEY	   "x" /* an object of the bucket, whose URL leads to that of the bucket */

struct s3_listing {
	struct listing keys;
	struct object_auth *auth;
	char *headers[HEADERS + 1];
	size_t count;
	unsigned refusals;
};

static void listing_drop_headers(struct s3_listing *listing)
{
	while (listing->count)
		free(listing->headers[--listing->count]);
	memset(listing->headers, 0, sizeof(listing->headers));
}

static void listing_release(struct s3_listing *listing)
{
	listing_drop_headers(listing);
	if (listing->auth)
		listing->auth->ops->free(listing->auth);
}

/* --- keys ------------------------------------------------------------------------------------- */

static const char *key_of(const char *name)
{
	const char *bucket = name + name_scheme(name) + strlen("://");
	size_t len = strcspn(bucket, "/");

	return bucket + len + (bucket[len] == '/');
}

bool s3_is_pattern(const char *name)
{
	return strpbrk(key_of(name), LISTING_WILD);
}

/* In place: keys come as in a form. */
static void decode_key(char *text)
{
	char *to = text;

	for (; *text; text++, to++) {
		int byte = name_percent_byte(text);

		*to = *text == '+' ? ' ' : *text;
		if (byte >= 0) {
			*to = (char)byte;
			text += 2;
		}
	}
	*to = '\0';
}

static int take_listed_keys(struct listing *keys, const char *body)
{
	int r = 0;

	for (const char *at = body; r == 0 && (at = strstr(at, "<Key>")); at++) {
		SCOPE_FREE char *key = NULL;

		r = answer_xml(at, "Key", &key);
		if (r == 0) {
			decode_key(key);
			r = listing_take(keys, key);
		}
	}
	return r;
}

/* --- pages ------------------------------------------------------------------------------------ */

static int add_signed_header(void *context, const char *line)
{
	struct s3_listing *listing = context;
	char *copy = listing->count < HEADERS ? strdup(line) : NULL;

	if (!copy)
		return -ENOMEM;
	listing->headers[listing->count++] = copy;
	return 0;
}

/* Sorted by name, as signatures want it. `token` NULL: of the first page. */
static int add_query(const char *pattern, const char *token, struct buf *ret)
{
	SCOPE_FREE char *prefix = strndup(pattern, strcspn(pattern, LISTING_WILD));
	int r = prefix ? 0 : -ENOMEM;

	if (r == 0 && token)
		r = buf_adds(ret, "continuation-token=");
	if (r == 0 && token)
		r = encode_add(ret, token, "");
	if (r == 0)
		r = buf_addf(ret, "%sencoding-type=url&list-type=2&prefix=", token ? "&" : "");
	return r < 0 ? r : encode_add(ret, prefix, "");
}

static int wait_for_credentials(struct object_refresh *refresh, struct err *err)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	int r;

	while ((r = object_refresh_look(refresh, err)) == -EAGAIN)
		nanosleep(&pause, NULL);
	return r;
}

/* The URL of the bucket, with what signs a request for it. */
static int prepare(struct s3_listing *listing, const char *query, struct buf *url, bool *direct)
{
	const char *object = listing->auth->url;
	struct url parts SCOPE(url_release) = {0};
	int r = buf_addf(url, "%.*s?%s", (int)(strlen(object) - strlen(ANY_KEY)), object, query);

	listing_drop_headers(listing);
	if (r == 0)
		r = url_parse(url->data, &parts);
	if (r < 0)
		return r;
	*direct = url_is_here(&parts);
	return listing->auth->ops->sign(
		listing->auth,
		&(struct object_request){.host = parts.host, .path = parts.path, .query = query},
		add_signed_header, listing);
}

static int take_refusal(struct s3_listing *listing, unsigned status, const struct buf *headers,
			const struct buf *body, struct err *err)
{
	const struct object_answer answer = {.status = status,
					     .headers = headers->data ? headers->data : "",
					     .body = body->data,
					     .len = body->len};
	struct err why = {0};
	int r = listing->refusals++ < OBJECT_REFUSALS
			? listing->auth->ops->refused(listing->auth, &answer, &why)
			: -EIO;

	return r < 0 ? err_set(err, r,
			       "the bucket is not listed, which takes the permission "
			       "to list it: %s",
			       err_text(&why, r))
		     : r;
}

/* Asks for one page, until it is answered. */
static int get_page(struct s3_listing *listing, const char *token,
		    const struct remote_settings *settings, credentials_fetch_fn *fetch_from,
		    struct buf *ret, struct err *err)
{
	SCOPE(buf_release) struct buf query = BUF_INIT;
	unsigned status = 0;
	int r = add_query(listing->keys.pattern, token, &query);

	while (r == 0 && status != 200) {
		SCOPE(buf_release) struct buf url = BUF_INIT;
		SCOPE(buf_release) struct buf headers = BUF_INIT;
		struct fetch request = {.method = "GET",
					.timeout_ms = TIMEOUT_MS,
					.most = LISTING_BYTES,
					.ret_headers = &headers,
					.settings = settings};

		r = wait_for_credentials(listing->auth->refresh, err);
		if (r == 0)
			r = prepare(listing, query.data, &url, &request.direct);
		request.url = url.data;
		request.headers = (const char *const *)listing->headers;
		if (r == 0)
			r = listing_ask(&request, fetch_from, &status, ret, err);
		if (r == 0 && status != 200)
			r = take_refusal(listing, status, &headers, ret, err);
	}
	return r;
}

static int list_bucket(struct s3_listing *listing, const struct remote_settings *settings,
		       credentials_fetch_fn *fetch_from, struct err *err)
{
	SCOPE_FREE char *token = NULL;
	int r = 0;

	for (unsigned pages = 0; r == 0; pages++) {
		SCOPE(buf_release) struct buf body = BUF_INIT;

		if (pages == LISTING_PAGES)
			return err_set(err, -E2BIG, "too many objects begin like this");
		r = get_page(listing, token, settings, fetch_from, &body, err);
		if (r == 0 && !strstr(body.data, "<ListBucketResult"))
			r = err_set(err, -EPROTO, "the answer is no listing of a bucket");
		if (r == 0)
			r = take_listed_keys(&listing->keys, body.data);
		if (r < 0)
			return r;
		free(token);
		token = NULL;
		r = answer_xml(body.data, "NextContinuationToken", &token);
	}
	return r == 1 ? 0 : r;
}

int s3_list(const char *name, const struct remote_settings *settings,
	    credentials_fetch_fn *fetch_from, struct remote *remote, struct buf *ret,
	    struct err *err)
{
	const char *pattern = key_of(name);
	struct s3_listing listing SCOPE(listing_release) = {
		.keys = {.name = name,
			 .root = (int)(pattern - name) - 1,
			 .pattern = pattern,
			 .found = ret}};
	SCOPE_FREE char *any = NULL;
	struct err reason = {0};
	int r;

	if (asprintf(&any, "%.*s/" ANY_KEY, listing.keys.root, name) < 0) {
		any = NULL;
		return -ENOMEM;
	}
	r = s3_auth_new(any, settings, fetch_from, remote, &listing.auth, &reason);
	if (r == 0)
		r = list_bucket(&listing, settings, fetch_from, &reason);
	if (r < 0)
		return err_set(err, r, "%s: %s", name, err_text(&reason, r));
	return ret->len ? 0 : err_set(err, -ENOENT, "'%s' matches no object", name);
}
