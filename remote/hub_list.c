#include "remote/hub_list.h"
#include "base/scope.h"
#include "remote/answer.h"
#include "remote/encode.h"
#include "remote/header.h"
#include "remote/hub.h"
#include "remote/listing.h"
#include "remote/secret.h"
#include "remote/token.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TIMEOUT_MS 30000
#define LINK	   16384
#define TFRECORD   3 /* of the kinds */

struct listing {
	const char *name; /* of the repository: hf://datasets/ORG/in1k@REVISION */
	int len;
	const char *pattern; /* of paths; "": there is none */
	struct buf *found;
	bool exact;		   /* a file has the pattern as its name */
	unsigned kinds[5], others; /* how many files of each kind there are */
	struct buf of_kind[5];
};

static const struct kind {
	const char *name, *suffix;
} kinds[] = {{"LMDB", ".lmdb"},
	     {"tar", ".tar"},
	     {"zip", ".zip"},
	     {"TFRecord", ".tfrecord"},
	     {"parquet", ".parquet"}};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* --- files ------------------------------------------------------------------------------------ */

/* KINDS: of no kind. Shards of TFRecord have numbers behind the suffix. */
static size_t kind_of(const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < KINDS; i++) {
		size_t end = strlen(kinds[i].suffix);

		if (len > end && strcmp(path + len - end, kinds[i].suffix) == 0)
			return i;
	}
	return strstr(path, ".tfrecord-") ? TFRECORD : KINDS;
}

static int add(const struct listing *listing, const char *path, struct buf *ret)
{
	int r = buf_addf(ret, "%.*s/%s", listing->len, listing->name, path);

	return r < 0 ? r : buf_add(ret, "", 1);
}

static int take_file(struct listing *listing, const char *path)
{
	size_t kind = kind_of(path);

	if (!*listing->pattern) {
		if (kind == KINDS)
			listing->others++;
		else
			listing->kinds[kind]++;
		return kind == KINDS ? 0 : add(listing, path, &listing->of_kind[kind]);
	}
	if (!listing->exact && strcmp(path, listing->pattern) == 0) {
		listing->exact = true;
		listing->found->len = 0;
	} else if (listing->exact || !listing_matches(listing->pattern, path)) {
		return 0;
	}
	return add(listing, path, listing->found);
}

static int take_page(struct listing *listing, const char *text)
{
	static const char *const names[] = {"type", "path"};
	int r;

	for (;;) {
		char *texts[2] = {NULL, NULL};

		r = answer_json_next(&text, names, texts, 2);
		if (r == 0 && texts[0] && texts[1] && strcmp(texts[0], "file") == 0)
			r = take_file(listing, texts[1]);
		free(texts[0]);
		free(texts[1]);
		if (r)
			return r == 1 ? 0 : r;
	}
}

/* The kinds that there are, when it is not clear which is meant. */
static int refuse_kinds(const struct listing *listing, struct err *err)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;

	for (size_t i = 0; i < KINDS; i++)
		if (listing->kinds[i] &&
		    buf_addf(&text, "%u %s, ", listing->kinds[i], kinds[i].name) < 0)
			return -ENOMEM;
	return err_set(err, -ENOENT,
		       "'%.*s' has %s%u other files, and not one kind to mount: name them, as "
		       "%.*s/data/*.tar",
		       listing->len, listing->name, text.data ? text.data : "", listing->others,
		       listing->len, listing->name);
}

static int choose(struct listing *listing, struct err *err)
{
	size_t chosen = KINDS;

	if (*listing->pattern)
		return listing->found->len ? 0
					   : err_set(err, -ENOENT, "'%.*s/%s' matches no file",
						     listing->len, listing->name, listing->pattern);
	for (size_t i = 0; i < KINDS; i++) {
		if (listing->kinds[i] && chosen < KINDS)
			return refuse_kinds(listing, err);
		chosen = listing->kinds[i] ? i : chosen;
	}
	if (chosen == KINDS)
		return refuse_kinds(listing, err);
	return buf_add(listing->found, listing->of_kind[chosen].data, listing->of_kind[chosen].len);
}

/* --- pages ------------------------------------------------------------------------------------ */

/* The URL of `<URL>; rel="next"`. Returns 0, 1 (there is none) or -errno. */
static int next_of(const char *headers, char **ret, struct err *err)
{
	char links[LINK];
	const char *at = links, *end;

	if (!header_find(headers, "Link", links, sizeof(links)))
		return strcasestr(headers, "\nlink:") ? -EMSGSIZE : 1;
	while ((at = strchr(at, '<')) && (end = strchr(at, '>'))) {
		if (strncmp(end + strcspn(end, "r,"), "rel=\"next\"", 10) == 0) {
			*ret = strndup(at + 1, (size_t)(end - at - 1));
			return *ret ? 0 : -ENOMEM;
		}
		at = end;
	}
	return strstr(links, "next") ? err_set(err, -EPROTO, "the Hub's next page is unclear") : 1;
}

static int say_status(unsigned status, bool has_token, struct err *err)
{
	if (status == 404)
		return err_set(err, -ENOENT, "no such dataset, revision or folder (404)");
	if (status == 401 || status == 403)
		return err_set(err, -EACCES, "the Hub refuses to list it (%u): %s", status,
			       has_token ? "the token may have ended"
					 : "there is no such dataset, or it asks for a token: 'hf "
					   "auth login', or HF_TOKEN");
	return err_set(err, -EIO, "the Hub does not list it (%u)%s", status,
		       status / 100 == 3 ? ": it has another name now" : "");
}

static int get_page(const struct fetch *request, credentials_fetch_fn *fetch_from, struct buf *ret,
		    struct err *err)
{
	unsigned status = 0;
	int r = listing_ask(request, fetch_from, &status, ret, err);

	return r < 0 || status == 200 ? r : say_status(status, request->headers[0] != NULL, err);
}

/* Asks for all pages of `url`, which all are on one server, as the token is. */
static int get_pages(struct listing *listing, const char *first,
		     const struct remote_settings *settings, credentials_fetch_fn *fetch_from,
		     struct err *err)
{
	struct url server SCOPE(url_release) = {0};
	struct token token SCOPE(token_release) = {0};
	SCOPE(secret_release) char *line = NULL;
	SCOPE_FREE char *url = strdup(first);
	int r = url ? url_parse(url, &server) : -ENOMEM;

	if (r == -EINVAL)
		return err_set(err, r, "HF_ENDPOINT is no URL");
	if (r == 0)
		r = token_find(&server, settings, &token, err);
	if (r == 0 && token.text && asprintf(&line, "Authorization: Bearer %s", token.text) < 0)
		line = NULL, r = -ENOMEM;
	for (unsigned pages = 0; r == 0; pages++) {
		const char *const headers[] = {line, NULL};
		SCOPE(buf_release) struct buf answered = BUF_INIT;
		SCOPE(buf_release) struct buf body = BUF_INIT;
		struct url next SCOPE(url_release) = {0};
		char *to = NULL;

		r = get_page(&(struct fetch){.method = "GET",
					     .url = url,
					     .headers = headers,
					     .timeout_ms = TIMEOUT_MS,
					     .direct = url_is_here(&server),
					     .most = LISTING_BYTES,
					     .ret_headers = &answered,
					     .settings = settings},
			     fetch_from, &body, err);
		if (r == 0 && (r = take_page(listing, body.data)) == -EINVAL)
			r = err_set(err, -EPROTO, "the Hub's listing cannot be read");
		if (r == 0)
			r = next_of(answered.data ? answered.data : "", &to, err);
		if (r)
			break;
		free(url);
		url = to;
		if (url_parse(url, &next) < 0 || !url_same_server(&server, &next) ||
		    pages == LISTING_PAGES)
			r = err_set(err, -EPROTO,
				    "the Hub's listing goes on at another server, or has no end");
	}
	return r == 1 ? 0 : r;
}

/* --- names ------------------------------------------------------------------------------------ */

bool hub_is_pattern(const char *name)
{
	struct hub_name parts;

	return hub_parse(name, &parts, NULL) == 0 &&
	       (!parts.path[0] || strpbrk(parts.path, LISTING_WILD));
}

/* Of the folder that all files of the pattern are in. */
static int listing_url(const struct hub_name *parts, char **ret)
{
	size_t plain = strcspn(parts->path, LISTING_WILD);
	const char *slash = memrchr(parts->path, '/', plain);
	SCOPE_FREE char *folder = strndup(parts->path, slash ? (size_t)(slash - parts->path) : 0);
	SCOPE(buf_release) struct buf url = BUF_INIT;
	int r = folder ? hub_add(parts, "/api/datasets/", "/tree/", &url) : -ENOMEM;

	if (r == 0 && *folder)
		r = buf_adds(&url, "/");
	if (r == 0)
		r = encode_add(&url, folder, "/");
	if (r == 0)
		r = buf_adds(&url, "?recursive=true");
	if (r == 0)
		*ret = steal_ptr(&url.data);
	return r;
}

int hub_list(const char *name, const struct remote_settings *settings,
	     credentials_fetch_fn *fetch_from, struct buf *ret, struct err *err)
{
	struct hub_name parts;
	struct listing listing = {.name = name, .found = ret};
	SCOPE_FREE char *url = NULL;
	struct err reason = {0};
	int r = hub_parse(name, &parts, err);

	if (r < 0)
		return r;
	listing.pattern = parts.path;
	listing.len = parts.len;
	r = listing_url(&parts, &url);
	if (r == 0)
		r = get_pages(&listing, url, settings, fetch_from, &reason);
	if (r < 0)
		err_set(err, r, "%s: %s", name, err_text(&reason, r));
	else
		r = choose(&listing, err);
	for (size_t i = 0; i < KINDS; i++)
		buf_release(&listing.of_kind[i]);
	return r;
}
