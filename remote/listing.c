#include "remote/listing.h"
#include "base/name.h"
#include "base/scope.h"
#include "remote/answer.h"
#include "remote/bearer.h"
#include "remote/bounds.h"
#include "remote/hub.h"
#include "remote/s3.h"
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define TRIES	   4
#define TIMEOUT_MS 30000
#define WILD	   "*?["
#define ANY_KEY	   "x" /* an object of the bucket, whose URL leads to that of the bucket */

enum kind { LMDB, TAR, ZIP, TFRECORD, PARQUET, OTHER };

static const struct {
	const char *name, *suffix;
} kinds[OTHER] = {[LMDB] = {"LMDB", ".lmdb"},
		  [TAR] = {"tar", ".tar"},
		  [ZIP] = {"zip", ".zip"},
		  [TFRECORD] = {"TFRecord", ".tfrecord"},
		  [PARQUET] = {"parquet", ".parquet"}};

struct listing {
	const char *name;	    /* that was asked for: s3://bucket/train/shard-*.tar */
	int root;		    /* bytes of it: what all files are in, without the slash */
	const char *pattern;	    /* of what is below; "": there is none */
	struct buf *found;	    /* names, NUL-ended */
	bool exact;		    /* a file has the pattern as its path, and is meant alone */
	unsigned taken, pages;	    /* names, and pages that were asked for */
	struct buf names[OTHER];    /* without a pattern: those of each kind, */
	unsigned counts[OTHER + 1]; /* and their number */
	unsigned refusals;	    /* of buckets */
	struct object_auth *auth;
	const struct remote_settings *settings;
	credentials_fetch_fn *fetch;
};

/* --- files ------------------------------------------------------------------------------------ */

static int add_name(struct listing *listing, const char *path, struct buf *names, struct err *err)
{
	if (listing->taken++ == BOUND_NAMES)
		return err_set(err, -E2BIG, "over %u files match", BOUND_NAMES);
	buf_addf(names, "%.*s/%s", listing->root, listing->name, path);
	return buf_add(names, "", 1);
}

/* Shards of TFRecord have numbers behind the suffix. */
static enum kind kind_of(const char *path)
{
	size_t len = strlen(path);

	if (name_is_index(path))
		return OTHER;
	for (enum kind i = 0; i < OTHER; i++) {
		size_t end = strlen(kinds[i].suffix);

		if (len > end && strcmp(path + len - end, kinds[i].suffix) == 0)
			return i;
	}
	return strstr(path, ".tfrecord-") ? TFRECORD : OTHER;
}

/* Takes the path of a file if it matches. A long one would be compared for long. */
static int take_path(struct listing *listing, const char *path, struct err *err)
{
	if (strlen(path) > BOUND_NAME)
		return err_set(err, -E2BIG, "it has a name of over %u KiB",
			       (unsigned)(BOUND_NAME / KIB));
	if (!*listing->pattern) {
		enum kind kind = kind_of(path);

		listing->counts[kind]++;
		return kind == OTHER ? 0 : add_name(listing, path, &listing->names[kind], err);
	}
	if (!listing->exact && strcmp(path, listing->pattern) == 0) {
		listing->exact = true;
		listing->found->len = 0;
	} else if (listing->exact || name_is_index(path) ||
		   fnmatch(listing->pattern, path, FNM_PATHNAME | FNM_PERIOD) != 0) {
		return 0;
	}
	return add_name(listing, path, listing->found, err);
}

/* --- pages ------------------------------------------------------------------------------------ */

struct page {
	unsigned status;
	bool authorized; /* `auth` added headers */
	struct buf headers, body;
};

static void page_release(struct page *page)
{
	buf_release(&page->headers);
	buf_release(&page->body);
	*page = (struct page){0};
}

static int add_header_line(void *context, const char *line)
{
	return buf_add(context, line, strlen(line) + 1);
}

/* Asks for a page, which is empty. What may pass is tried again. Returns as fetch(), or -E2BIG (it
 * goes on for too long). */
static int ask_page(struct listing *listing, const char *url, struct page *ret, struct err *err)
{
	struct url parts SCOPE(url_release) = {0};
	SCOPE(buf_release) struct buf lines = BUF_INIT;
	const struct fetch request = {.method = "GET",
				      .url = url,
				      .headers = &lines,
				      .timeout_ms = TIMEOUT_MS,
				      .most = BOUND_PAGE,
				      .ret_headers = &ret->headers,
				      .settings = listing->settings};
	int r = url_parse(url, &parts);

	if (listing->pages++ == BOUND_PAGES)
		return err_set(err, -E2BIG, "its listing has over %u pages", BOUND_PAGES);
	if (r == 0)
		r = listing->auth->ops->sign(listing->auth, &parts, add_header_line, &lines);
	if (r < 0)
		return r;
	ret->authorized = lines.len;
	for (int i = 0; i < TRIES; i++) {
		nanosleep(&(struct timespec){i / 2, i % 2 * 500000000L}, NULL);
		r = listing->fetch(&request, &ret->status, &ret->body, err);
		if (r != -EIO && r != -ETIMEDOUT &&
		    (r < 0 || (ret->status != 429 && ret->status < 500)))
			break;
	}
	return r;
}

static int refuse_next(struct err *err)
{
	return err_set(err, -EMSGSIZE, "what names its next page has over %u KiB",
		       (unsigned)(BOUND_NEXT / KIB));
}

/* --- buckets ---------------------------------------------------------------------------------- */

static const char *key_of(const char *name)
{
	const char *bucket = name + name_scheme(name) + strlen("://");
	size_t len = strcspn(bucket, "/");

	return bucket + len + (bucket[len] == '/');
}

bool s3_is_pattern(const char *name)
{
	return strpbrk(key_of(name), WILD);
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

static int take_keys(struct listing *listing, const char *body, struct err *err)
{
	SCOPE_FREE char *encoding = NULL;
	int r = answer_xml(body, "EncodingType", &encoding);
	bool encoded = r == 0 && strcmp(encoding, "url") == 0;

	if (!strstr(body, "<ListBucketResult"))
		return err_set(err, -EPROTO, "the answer is no listing of a bucket");
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
			r = take_path(listing, key, err);
	}
	return r;
}

/* Sorted by name, as signatures want it. `token` NULL: of the first page. */
static int add_query(const char *pattern, const char *token, struct buf *ret)
{
	SCOPE_FREE char *prefix = strndup(pattern, strcspn(pattern, WILD));

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

static int take_refusal(struct listing *listing, const struct page *page, struct err *err)
{
	struct object_auth *auth = listing->auth;
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
static int get_page(struct listing *listing, const char *token, struct page *ret, struct err *err)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	const struct object_auth *auth = listing->auth;
	SCOPE(buf_release) struct buf query = BUF_INIT;
	int r = add_query(listing->pattern, token, &query);

	while (r == 0 && ret->status != 200) {
		SCOPE(buf_release) struct buf url = BUF_INIT;

		page_release(ret);
		while ((r = object_refresh_look(auth->refresh, err)) == -EAGAIN)
			nanosleep(&pause, NULL);
		if (r == 0)
			r = buf_addf(&url, "%.*s?%s", (int)(strlen(auth->url) - strlen(ANY_KEY)),
				     auth->url, query.data);
		if (r == 0)
			r = ask_page(listing, url.data, ret, err);
		if (r == 0 && ret->status != 200)
			r = take_refusal(listing, ret, err);
	}
	return r;
}

static int list_bucket(struct listing *listing, struct err *err)
{
	SCOPE_FREE char *token = NULL;
	int r = 0;

	while (r == 0) {
		struct page page SCOPE(page_release) = {0};

		r = get_page(listing, token, &page, err);
		if (r == 0)
			r = take_keys(listing, page.body.data, err);
		if (r < 0)
			return r;
		free(token);
		token = NULL;
		r = answer_xml(page.body.data, "NextContinuationToken", &token);
		if (r == 0 && strlen(token) > BOUND_NEXT)
			return refuse_next(err);
	}
	return r == 1 ? 0 : r;
}

int s3_list(const char *name, const struct remote_settings *settings,
	    credentials_fetch_fn *fetch_from, struct remote *remote, struct buf *ret,
	    struct err *err)
{
	const char *pattern = key_of(name);
	struct listing listing = {.name = name,
				  .root = (int)(pattern - name) - 1,
				  .pattern = pattern,
				  .found = ret,
				  .settings = settings,
				  .fetch = fetch_from};
	SCOPE(buf_release) struct buf any = BUF_INIT;
	struct err reason = {0};
	int r = buf_addf(&any, "%.*s/" ANY_KEY, listing.root, name);

	if (r == 0)
		r = s3_auth_new(any.data, settings, fetch_from, remote, &listing.auth, &reason);
	if (r == 0) {
		r = list_bucket(&listing, &reason);
		listing.auth->ops->free(listing.auth);
	}
	if (r < 0)
		return err_set(err, r, "%s: %s", name, err_text(&reason, r));
	return ret->len ? 0 : err_set(err, -ENOENT, "'%s' matches no object", name);
}

/* --- the Hub ---------------------------------------------------------------------------------- */

static int take_files(struct listing *listing, const char *text, struct err *err)
{
	static const char *const names[] = {"type", "path"};
	int r;

	do {
		char *texts[2] = {NULL, NULL};

		r = answer_json_next(&text, names, texts, 2);
		if (r == 0 && texts[0] && texts[1] && strcmp(texts[0], "file") == 0)
			r = take_path(listing, texts[1], err);
		free(texts[0]);
		free(texts[1]);
	} while (r == 0);
	if (r == -EINVAL)
		return err_set(err, -EPROTO, "the Hub's listing cannot be read");
	return r == 1 ? 0 : r;
}

/* The kinds that there are, when it is not clear which is meant. */
static int refuse_kinds(const struct listing *listing, struct err *err)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;

	for (enum kind i = 0; i < OTHER; i++)
		if (listing->counts[i] &&
		    buf_addf(&text, "%u %s, ", listing->counts[i], kinds[i].name) < 0)
			return -ENOMEM;
	return err_set(err, -ENOENT,
		       "'%.*s' has %s%u other files, and not one kind to mount: name them, as "
		       "%.*s/data/*.tar",
		       listing->root, listing->name, text.data ?: "", listing->counts[OTHER],
		       listing->root, listing->name);
}

/* Without a pattern, all files of one kind are meant. */
static int choose_kind(const struct listing *listing, struct err *err)
{
	enum kind chosen = OTHER;

	for (enum kind i = 0; i < OTHER; i++) {
		if (listing->counts[i] && chosen != OTHER)
			return refuse_kinds(listing, err);
		chosen = listing->counts[i] ? i : chosen;
	}
	return chosen == OTHER ? refuse_kinds(listing, err)
			       : buf_add(listing->found, listing->names[chosen].data,
					 listing->names[chosen].len);
}

/* The URL of `<URL>; rel="next"`. Returns 0, 1 (there is none) or -errno. */
static int next_of(const char *headers, char **ret, struct err *err)
{
	char links[BOUND_NEXT];
	const char *at = links, *end;

	if (!header_find(headers, "Link", links, sizeof(links)))
		return strcasestr(headers, "\nlink:") ? refuse_next(err) : 1;
	while ((at = strchr(at, '<')) && (end = strchr(at, '>'))) {
		if (strncmp(end + strcspn(end, "r,"), "rel=\"next\"", 10) == 0) {
			*ret = strndup(at + 1, (size_t)(end - at - 1));
			return *ret ? 0 : -ENOMEM;
		}
		at = end;
	}
	return strstr(links, "next") ? err_set(err, -EPROTO, "the Hub's next page is unclear") : 1;
}

static int say_status(const struct page *page, struct err *err)
{
	unsigned status = page->status;

	if (status == 404)
		return err_set(err, -ENOENT, "no such dataset, revision or folder (404)");
	if (status == 401 || status == 403)
		return err_set(err, -EACCES, "the Hub refuses to list it (%u): %s", status,
			       page->authorized ? "the token may have ended"
						: "there is no such dataset, or it asks for a "
						  "token: 'hf auth login', or HF_TOKEN");
	return err_set(err, -EIO, "the Hub does not list it (%u)%s", status,
		       status / 100 == 3 ? ": it has another name now" : "");
}

/* Takes a page, and replaces its URL by that of the next one. Returns 0, 1 (it was the last) or
 * -errno. */
static int turn_page(struct listing *listing, char **url, struct err *err)
{
	struct page page SCOPE(page_release) = {0};
	char *next;
	int r = ask_page(listing, *url, &page, err);

	if (r == 0 && page.status != 200)
		r = say_status(&page, err);
	if (r == 0)
		r = take_files(listing, page.body.data, err);
	if (r == 0)
		r = next_of(page.headers.data ?: "", &next, err);
	if (r == 0) {
		free(*url);
		*url = next;
	}
	return r;
}

/* The URL of the listing of the folder that all files of the pattern are in. */
static int add_listing_url(const struct hub_name *parts, struct buf *ret)
{
	size_t plain = strcspn(parts->path, WILD);
	const char *slash = memrchr(parts->path, '/', plain);
	SCOPE_FREE char *folder = strndup(parts->path, slash ? (size_t)(slash - parts->path) : 0);
	int r = folder ? hub_add(parts, "/api/datasets/", "/tree/", ret) : -ENOMEM;

	if (r < 0)
		return r;
	if (*folder)
		buf_adds(ret, "/");
	url_encode(ret, folder, "/");
	return buf_adds(ret, "?recursive=true");
}

/* Asks for all pages, which all are on one server, as the token is. */
static int list_dataset(struct listing *listing, const struct hub_name *parts, struct err *err)
{
	struct url server SCOPE(url_release) = {0};
	SCOPE(buf_release) struct buf url = BUF_INIT;
	int r = add_listing_url(parts, &url);

	if (r == 0)
		r = url_parse(url.data, &server);
	if (r == -EINVAL)
		return err_set(err, r, "HF_ENDPOINT is not a URL");
	if (r == 0)
		r = bearer_new(url.data, false, listing->settings, &listing->auth, err);
	while (r == 0) {
		struct url next SCOPE(url_release) = {0};

		r = turn_page(listing, &url.data, err);
		if (r == 0 && (url_parse(url.data, &next) < 0 || !url_same_server(&server, &next)))
			r = err_set(err, -EPROTO, "the Hub's listing goes on at another server");
	}
	return r == 1 ? 0 : r;
}

bool hub_is_pattern(const char *name)
{
	struct hub_name parts;

	return hub_parse(name, &parts, NULL) == 0 && (!parts.path[0] || strpbrk(parts.path, WILD));
}

int hub_list(const char *name, const struct remote_settings *settings,
	     credentials_fetch_fn *fetch_from, struct buf *ret, struct err *err)
{
	struct hub_name parts;
	struct listing listing = {
		.name = name, .found = ret, .settings = settings, .fetch = fetch_from};
	struct err reason = {0};
	int r = hub_parse(name, &parts, err);

	if (r < 0)
		return r;
	listing.pattern = parts.path;
	listing.root = parts.len;
	r = list_dataset(&listing, &parts, &reason);
	if (listing.auth)
		listing.auth->ops->free(listing.auth);
	if (r < 0)
		err_set(err, r, "%s: %s", name, err_text(&reason, r));
	else if (!*parts.path)
		r = choose_kind(&listing, err);
	else if (!ret->len)
		r = err_set(err, -ENOENT, "'%.*s/%s' matches no file", parts.len, name, parts.path);
	for (enum kind i = 0; i < OTHER; i++)
		buf_release(&listing.names[i]);
	return r;
}
