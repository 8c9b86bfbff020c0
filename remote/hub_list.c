#include "remote/hub_list.h"
#include "base/name.h"
#include "base/scope.h"
#include "remote/answer.h"
#include "remote/bearer.h"
#include "remote/bounds.h"
#include "remote/header.h"
#include "remote/hub.h"
#include "remote/listing.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum kind { LMDB, TAR, ZIP, TFRECORD, PARQUET, OTHER };

static const struct {
	const char *name, *suffix;
} kinds[OTHER] = {[LMDB] = {"LMDB", ".lmdb"},
		  [TAR] = {"tar", ".tar"},
		  [ZIP] = {"zip", ".zip"},
		  [TFRECORD] = {"TFRecord", ".tfrecord"},
		  [PARQUET] = {"parquet", ".parquet"}};

struct hub_listing {
	struct listing files; /* pattern "": there is none */
	unsigned counts[OTHER + 1];
	struct buf names[OTHER];
};

/* --- files ------------------------------------------------------------------------------------ */

/* Shards of TFRecord have numbers behind the suffix. */
static enum kind hub_kind(const char *path)
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

static int take_hub_file(struct hub_listing *listing, const char *path, struct err *err)
{
	enum kind kind = hub_kind(path);

	if (*listing->files.pattern)
		return listing_take(&listing->files, path, err);
	listing->counts[kind]++;
	return kind == OTHER ? 0 : listing_add(&listing->files, path, &listing->names[kind], err);
}

static int take_page(struct hub_listing *listing, const char *text, struct err *err)
{
	static const char *const names[] = {"type", "path"};
	int r;

	for (;;) {
		char *texts[2] = {NULL, NULL};

		r = answer_json_next(&text, names, texts, 2);
		if (r == 0 && texts[0] && texts[1] && strcmp(texts[0], "file") == 0)
			r = take_hub_file(listing, texts[1], err);
		free(texts[0]);
		free(texts[1]);
		if (r)
			return r == 1 ? 0 : r;
	}
}

/* The kinds that there are, when it is not clear which is meant. */
static int refuse_kinds(const struct hub_listing *listing, struct err *err)
{
	const struct listing *files = &listing->files;
	SCOPE(buf_release) struct buf text = BUF_INIT;

	for (enum kind i = 0; i < OTHER; i++)
		if (listing->counts[i] &&
		    buf_addf(&text, "%u %s, ", listing->counts[i], kinds[i].name) < 0)
			return -ENOMEM;
	return err_set(err, -ENOENT,
		       "'%.*s' has %s%u other files, and not one kind to mount: name them, as "
		       "%.*s/data/*.tar",
		       files->root, files->name, text.data ? text.data : "", listing->counts[OTHER],
		       files->root, files->name);
}

/* Without a pattern, all files of one kind are meant. */
static int choose_kind(const struct hub_listing *listing, struct err *err)
{
	enum kind chosen = OTHER;

	for (enum kind i = 0; i < OTHER; i++) {
		if (listing->counts[i] && chosen != OTHER)
			return refuse_kinds(listing, err);
		chosen = listing->counts[i] ? i : chosen;
	}
	if (chosen == OTHER)
		return refuse_kinds(listing, err);
	return buf_add(listing->files.found, listing->names[chosen].data,
		       listing->names[chosen].len);
}

/* --- pages ------------------------------------------------------------------------------------ */

/* The URL of `<URL>; rel="next"`. Returns 0, 1 (there is none) or -errno. */
static int next_of(const char *headers, char **ret, struct err *err)
{
	char links[BOUND_NEXT];
	const char *at = links, *end;

	if (!header_find(headers, "Link", links, sizeof(links)))
		return strcasestr(headers, "\nlink:")
			       ? err_set(err, -EMSGSIZE, "what names its next page has over %u KiB",
					 (unsigned)(BOUND_NEXT / KIB))
			       : 1;
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

/* Takes a page, and replaces its URL by that of the next one. Returns 0, 1 (it was the last) or
 * -errno. */
static int turn_page(struct hub_listing *listing, char **url, struct err *err)
{
	struct listing_page page SCOPE(listing_page_release) = {0};
	char *next;
	int r = listing_ask(&listing->files, *url, &page, err);

	if (r == 0 && page.status != 200)
		r = say_status(page.status, page.authorized, err);
	if (r == 0 && (r = take_page(listing, page.body.data, err)) == -EINVAL)
		r = err_set(err, -EPROTO, "the Hub's listing cannot be read");
	if (r == 0)
		r = next_of(page.headers.data ? page.headers.data : "", &next, err);
	if (r == 0) {
		free(*url);
		*url = next;
	}
	return r;
}

/* Asks for all pages from `first` on, which all are on one server, as the token is. */
static int get_pages(struct hub_listing *listing, const char *first, struct err *err)
{
	struct url server SCOPE(url_release) = {0};
	SCOPE_FREE char *url = strdup(first);
	int r = url ? url_parse(url, &server) : -ENOMEM;

	if (r == -EINVAL)
		return err_set(err, r, "HF_ENDPOINT is no URL");
	if (r == 0)
		r = bearer_new(url, false, listing->files.settings, &listing->files.auth, err);
	while (r == 0) {
		struct url next SCOPE(url_release) = {0};

		r = turn_page(listing, &url, err);
		if (r == 0 && (url_parse(url, &next) < 0 || !url_same_server(&server, &next)))
			r = err_set(err, -EPROTO, "the Hub's listing goes on at another server");
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

	if (r < 0)
		return r;
	if (*folder)
		buf_adds(&url, "/");
	url_encode(&url, folder, "/");
	r = buf_adds(&url, "?recursive=true");
	if (r == 0)
		*ret = steal_ptr(&url.data);
	return r;
}

int hub_list(const char *name, const struct remote_settings *settings,
	     credentials_fetch_fn *fetch_from, struct buf *ret, struct err *err)
{
	struct hub_name parts;
	struct hub_listing listing = {
		.files = {.name = name, .found = ret, .settings = settings, .fetch = fetch_from}};
	SCOPE_FREE char *url = NULL;
	struct err reason = {0};
	int r = hub_parse(name, &parts, err);

	if (r < 0)
		return r;
	listing.files.pattern = parts.path;
	listing.files.root = parts.len;
	r = listing_url(&parts, &url);
	if (r == 0)
		r = get_pages(&listing, url, &reason);
	if (listing.files.auth)
		listing.files.auth->ops->free(listing.files.auth);
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
