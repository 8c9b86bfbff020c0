#include "remote/s3_list.h"
#include "base/name.h"
#include "base/scope.h"
#include "remote/answer.h"
#include "remote/bounds.h"
#include "remote/listing.h"
#include "remote/s3.h"
#include "remote/url.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ANY_KEY "x" /* an object of the bucket, whose URL leads to that of the bucket */

struct s3_listing {
	struct listing keys;
	unsigned refusals;
};

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

/* In place: keys come as in a form, if the server has done what it was asked. */
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

static int take_listed_keys(struct listing *keys, const char *body, struct err *err)
{
	SCOPE_FREE char *encoding = NULL;
	int r = answer_xml(body, "EncodingType", &encoding);
	bool encoded = r == 0 && strcmp(encoding, "url") == 0;

	if (r == 1)
		r = 0;
	for (const char *at = body; r == 0 && (at = strchr(at, '<')); at++) {
		SCOPE_FREE char *key = NULL;

		if (strncmp(at, "<Key>", 5) != 0)
			continue;
		r = answer_xml(at, "Key", &key);
		if (r == 0 && encoded)
			decode_key(key);
		if (r == 0)
			r = listing_take(keys, key, err);
	}
	return r;
}

/* --- pages ------------------------------------------------------------------------------------ */

/* Sorted by name, as signatures want it. `token` NULL: of the first page. */
static int add_query(const char *pattern, const char *token, struct buf *ret)
{
	SCOPE_FREE char *prefix = strndup(pattern, strcspn(pattern, LISTING_WILD));

	if (!prefix)
		return -ENOMEM;
	if (token) {
		buf_adds(ret, "continuation-token=");
		url_encode(ret, token, "");
		buf_adds(ret, "&");
	}
	buf_adds(ret, "encoding-type=url&list-type=2&prefix=");
	return url_encode(ret, prefix, "");
}

static int wait_for_credentials(struct object_refresh *refresh, struct err *err)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	int r;

	while ((r = object_refresh_look(refresh, err)) == -EAGAIN)
		nanosleep(&pause, NULL);
	return r;
}

static int take_refusal(struct s3_listing *listing, const struct listing_page *page,
			struct err *err)
{
	struct object_auth *auth = listing->keys.auth;
	const struct object_answer answer = {.status = page->status,
					     .headers =
						     page->headers.data ? page->headers.data : "",
					     .body = page->body.data,
					     .len = page->body.len};
	struct err why = {0};
	int r = listing->refusals++ < BOUND_REFUSALS ? auth->ops->refused(auth, &answer, &why)
						     : -EIO;

	return r < 0 ? err_set(err, r,
			       "the bucket is not listed, which takes the permission "
			       "to list it: %s",
			       err_text(&why, r))
		     : r;
}

/* Asks for one page, until it is answered. `auth` has the URL of ANY_KEY. */
static int get_page(struct s3_listing *listing, const char *token, struct listing_page *ret,
		    struct err *err)
{
	const struct object_auth *auth = listing->keys.auth;
	SCOPE(buf_release) struct buf query = BUF_INIT;
	int r = add_query(listing->keys.pattern, token, &query);

	while (r == 0 && ret->status != 200) {
		SCOPE(buf_release) struct buf url = BUF_INIT;

		listing_page_release(ret);
		r = wait_for_credentials(auth->refresh, err);
		if (r == 0)
			r = buf_addf(&url, "%.*s?%s", (int)(strlen(auth->url) - strlen(ANY_KEY)),
				     auth->url, query.data);
		if (r == 0)
			r = listing_ask(&listing->keys, url.data, ret, err);
		if (r == 0 && ret->status != 200)
			r = take_refusal(listing, ret, err);
	}
	return r;
}

static int list_bucket(struct s3_listing *listing, struct err *err)
{
	SCOPE_FREE char *token = NULL;
	int r = 0;

	while (r == 0) {
		struct listing_page page SCOPE(listing_page_release) = {0};

		r = get_page(listing, token, &page, err);
		if (r == 0 && !strstr(page.body.data, "<ListBucketResult"))
			r = err_set(err, -EPROTO, "the answer is no listing of a bucket");
		if (r == 0)
			r = take_listed_keys(&listing->keys, page.body.data, err);
		if (r < 0)
			return r;
		free(token);
		token = NULL;
		r = answer_xml(page.body.data, "NextContinuationToken", &token);
		if (r == 0 && strlen(token) > BOUND_NEXT)
			return err_set(err, -EMSGSIZE, "what names its next page has over %u KiB",
				       (unsigned)(BOUND_NEXT / KIB));
	}
	return r == 1 ? 0 : r;
}

int s3_list(const char *name, const struct remote_settings *settings,
	    credentials_fetch_fn *fetch_from, struct remote *remote, struct buf *ret,
	    struct err *err)
{
	const char *pattern = key_of(name);
	struct s3_listing listing = {.keys = {.name = name,
					      .root = (int)(pattern - name) - 1,
					      .pattern = pattern,
					      .found = ret,
					      .settings = settings,
					      .fetch = fetch_from}};
	SCOPE_FREE char *any = NULL;
	struct err reason = {0};
	int r;

	if (asprintf(&any, "%.*s/" ANY_KEY, listing.keys.root, name) < 0) {
		any = NULL;
		return -ENOMEM;
	}
	r = s3_auth_new(any, settings, fetch_from, remote, &listing.keys.auth, &reason);
	if (r == 0) {
		r = list_bucket(&listing, &reason);
		listing.keys.auth->ops->free(listing.keys.auth);
	}
	if (r < 0)
		return err_set(err, r, "%s: %s", name, err_text(&reason, r));
	return ret->len ? 0 : err_set(err, -ENOENT, "'%s' matches no object", name);
}
