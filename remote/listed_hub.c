/* The files of a dataset on the Hub: api/datasets/NAME/tree/REVISION/FOLDER?recursive=true. */
#include "base/scope.h"
#include "remote/bearer.h"
#include "remote/bounds.h"
#include "remote/listed_walk.h"
#include "remote/response.h"
#include <string.h>

/* The tag of a file in LFS is the name of its content there. */
static int take_file(struct walk *walk, char *const *texts, struct err *err)
{
	SCOPE_FREE char *tag = NULL;
	const char *path = texts[1], *oid = texts[4] ?: texts[3];
	struct listed listed = {.path = path, .tag = ""};
	int r = walk_note(walk, path, walk->folder, err);

	if (r < 0)
		return r;
	if (oid && asprintf(&tag, "\"%s\"", oid) < 0) {
		tag = NULL;
		return -ENOMEM;
	}
	listed.size = texts[2] ? strtoull(texts[2], NULL, 10) : 0;
	listed.tag = tag ?: "";
	return walk->ask->found(walk->ask->context, &listed, err);
}

static int take_files(struct walk *walk, const char *text, struct err *err)
{
	static const char *const names[] = {"type", "path", "size", "oid", "lfs.oid"};
	int r;

	do {
		char *texts[5] = {NULL};

		r = response_json_next(&text, names, texts, 5);
		if (r == 0 && texts[0] && texts[1] && strcmp(texts[0], "file") == 0)
			r = take_file(walk, texts, err);
		for (size_t i = 0; i < 5; i++)
			free(texts[i]);
	} while (r == 0);
	if (r == -EINVAL)
		return err_set(err, -EPROTO, "the Hub's listing cannot be read");
	return r == 1 ? 0 : r;
}

/* The URL of `<URL>; rel="next"`. Returns 0, 1 (there is none) or -errno. */
static int next_of(const char *headers, char **ret, struct err *err)
{
	char links[BOUND_NEXT];
	const char *at = links, *end;

	if (!header_find(headers, "Link", links, sizeof(links)))
		return strcasestr(headers, "\nlink:") ? walk_refuse_next(err) : 1;
	while ((at = strchr(at, '<')) && (end = strchr(at, '>'))) {
		if (strncmp(end + strcspn(end, "r,"), "rel=\"next\"", 10) == 0) {
			*ret = strndup(at + 1, (size_t)(end - at - 1));
			return *ret ? 0 : -ENOMEM;
		}
		at = end;
	}
	return strstr(links, "next") ? err_set(err, -EPROTO, "the Hub's next page is unclear") : 1;
}

/* All pages are on one server, as the token is. */
static int turn_hub(struct walk *walk, struct chain **chain, struct err *err)
{
	const struct page *page = &(*chain)->page;
	struct url next SCOPE(url_release) = {0}, own SCOPE(url_release) = {0};
	SCOPE_FREE char *more = NULL;
	int r = page->cropped ? walk_refuse_next(err) : take_files(walk, page->body, err);

	if (r == 0)
		r = next_of(page->headers, &more, err);
	if (r != 0)
		return r == 1 ? 0 : r;
	if (url_parse(more, &next) < 0 || url_parse(walk->place->auth->url, &own) < 0 ||
	    !url_same_server(&own, &next))
		return err_set(err, -EPROTO, "the Hub's listing goes on at another server");
	return walk_again(walk, chain, &more, err);
}

/* Without a token there may be a password. */
static int refuse_hub(struct object_auth *auth, const struct object_answer *answer, struct err *err)
{
	unsigned status = answer->status;

	if (status == 404)
		return err_set(err, -ENOENT, "no such dataset, revision or folder (404)");
	if (status == 401 || status == 403)
		return err_set(err, -EACCES, "the Hub refuses to list it (%u): %s", status,
			       auth->netrc ? "there is no such dataset, or it asks for a "
					     "token: 'hf auth login', or HF_TOKEN"
					   : "the token may have ended");
	return err_set(err, -EIO, "the Hub does not list it (%u)%s", status,
		       status / 100 == 3 ? ": it has another name now" : "");
}

/* The URL of the listing of a folder. */
static int make_listing_url(const struct hub_name *name, const char *folder, char **ret)
{
	SCOPE(buf_release) struct buf url = BUF_INIT;
	SCOPE_FREE char *inside = strndup(folder, *folder ? strlen(folder) - 1 : 0);
	int r = inside ? hub_add(name, "/api/datasets/", "/tree/", &url) : -ENOMEM;

	if (r < 0)
		return r;
	if (*inside)
		buf_adds(&url, "/");
	url_encode(&url, inside, "/");
	r = buf_adds(&url, "?recursive=true");
	if (r == 0)
		*ret = steal_ptr(&url.data);
	return r;
}

int listed_hub_auth(const struct hub_name *name, const struct remote_settings *settings,
		    struct object_auth **ret, struct err *err)
{
	SCOPE(buf_release) struct buf url = BUF_INIT;
	int r = hub_add(name, "/datasets/", "/resolve/", &url);

	if (r == 0)
		r = buf_adds(&url, "/");
	if (r == 0)
		r = bearer_new(url.data, false, settings, ret, err);
	return r == -EINVAL ? err_set(err, r, "HF_ENDPOINT is not a URL") : r;
}

static int take_url(struct chain *chain, char **ret)
{
	*ret = steal_ptr(&chain->next);
	return 0;
}

int listed_hub(const struct listed_place *place, const char *folder, struct listed_ask *ask,
	       struct err *err)
{
	struct walk walk = {.ask = ask,
			    .place = place,
			    .folder = folder,
			    .make = take_url,
			    .turn = turn_hub,
			    .refused = refuse_hub};
	int r = walk_add(&walk, &(struct chain){.prefix = (char *)(uintptr_t)folder}, 0);

	if (r == 0)
		r = make_listing_url(&place->hub, folder, &walk.chains->next);
	if (r == 0)
		return walk_all(&walk, err);
	walk_drop(&walk);
	return r;
}
