/* A bucket is listed in the order of its keys, a page after the other. Ranges of keys are listed
 * side by side, where it is known how to part them. Folders tell: a request with a delimiter names
 * those at one level in the place of what is in them, and costs no more than others.
 *
 * So a folder's first page is asked for without a delimiter. If it is not the last one, and its
 * last key K = a/b/c/x is in a folder, the rest is in two parts, with `LAST` above all names of a
 * folder:
 *
 *	a/	after K		goes on, and is split as this one was
 *	""	after a/ LAST	is looked at: its folders are named, page by page, and so many of
 *				them as fill most of a page, as the first page tells, become a range
 *
 * What is beside folders lies in the range of the folder behind it. A range with a page that is in
 * one folder alone is split, too; others are nearly at their end, and go on. So do those with
 * folders so small that it would take long to name them, and a look ends where a page names none.
 * All in all, a request brings three quarters of a page. But a folder that has a million files
 * itself, and no folders, is a thousand pages one after the other.
 *
 * Ranges miss keys where the server has another order, or takes no start-after. What it names shows
 * that: then all is listed again, page by page. */
#include "base/name.h"
#include "base/scope.h"
#include "remote/bounds.h"
#include "remote/listed_walk.h"
#include "remote/response.h"
#include "remote/s3.h"
#include <string.h>

#define SMALL  4		  /* files of a folder that is not worth being named */
#define FILLED 75		  /* of a page, by the folders of a range, per cent */
#define LAST   "\xf4\x8f\xbf\xbf" /* the last character of Unicode */

/* --- the query of a page ---------------------------------------------------------------------- */

/* Sorted by name, as signatures want it. */
static int make_query(struct chain *chain, char **ret)
{
	SCOPE(buf_release) struct buf query = BUF_INIT;

	buf_adds(&query, "?");
	if (chain->next) {
		buf_adds(&query, "continuation-token=");
		url_encode(&query, chain->next, "");
		buf_adds(&query, "&");
	}
	buf_addf(&query, "%sencoding-type=url&list-type=2&prefix=",
		 chain->together ? "delimiter=%2F&" : "");
	url_encode(&query, chain->prefix, "");
	if (*chain->after && !chain->next) {
		buf_adds(&query, "&start-after=");
		url_encode(&query, chain->after, "");
	}
	if (buf_adds(&query, "") < 0)
		return -ENOMEM;
	*ret = steal_ptr(&query.data);
	return 0;
}

/* --- a page of a bucket ----------------------------------------------------------------------- */

/* In place: keys come as in a form, if the server has done what it was asked. Returns false if
 * there is a NUL in it. */
static bool decode_key(char *text)
{
	char *to = text;

	for (; *text; text++, to++) {
		int byte = name_percent_byte(text);

		if (strncmp(text, "%00", 3) == 0)
			return false;
		*to = *text == '+' ? ' ' : *text;
		if (byte >= 0) {
			*to = (char)byte;
			text += 2;
		}
	}
	*to = '\0';
	return true;
}

struct keys {
	struct walk *walk;
	struct chain *chain;
	bool encoded;
	char *last;	       /* name; NULL: there was none */
	size_t names, folders; /* names, and the folders that they are in */
	bool ended;	       /* there are some behind the range */
	bool odd;	       /* they have another order */
};

/* Of what is in a block of XML. Returns 0, 1 (there is none) or -errno. */
static int take_text(const struct keys *keys, const char *block, const char *name, char **ret,
		     struct err *err)
{
	SCOPE_FREE char *text = NULL;
	int r = response_xml(block, name, &text);

	if (r != 0)
		return r;
	if (keys->encoded && !decode_key(text))
		*text = '\0';
	r = walk_note(keys->walk, text, keys->chain->prefix, err);
	if (r == 0)
		*ret = steal_ptr(&text);
	return r;
}

/* Returns 1, 0 (another range has it) or -errno. A folder in which the range begins may be named.
 */
static int take_name(struct keys *keys, const char *name)
{
	const struct chain *chain = keys->chain;
	const char *before = keys->last ?: chain->after;
	size_t len = strlen(name), begin = strlen(chain->prefix);
	size_t folder = begin + strcspn(name + begin, "/");

	if (!chain->ordered)
		return 1;
	if (strcmp(name, before) <= 0) {
		keys->odd |= strncmp(name, before, len + !chain->together) != 0;
		return 0;
	}
	if (*chain->until && strcmp(name, chain->until) > 0) {
		keys->ended = true;
		return 0;
	}
	keys->odd |= keys->ended;
	keys->names++;
	keys->folders +=
		name[folder] && (!keys->last || strncmp(name, keys->last, folder + 1) != 0);
	free(keys->last);
	keys->last = strdup(name);
	return keys->last ? 1 : -ENOMEM;
}

/* The size may be missing, where only names are asked for. */
static int take_key(struct keys *keys, const char *block, struct err *err)
{
	SCOPE_FREE char *key = NULL, *size = NULL, *tag = NULL, *time = NULL;
	struct listed listed = {0};
	int r = take_text(keys, block, "Key", &key, err);

	if (r == 0)
		r = response_xml(block, "Size", &size);
	if (r >= 0)
		r = response_xml(block, "ETag", &tag);
	if (r >= 0)
		r = response_xml(block, "LastModified", &time);
	if (r >= 0 && key)
		r = *key ? take_name(keys, key) : 1;
	if (r <= 0 || !key)
		return r < 0 ? r : 0;
	listed.path = key;
	listed.size = size ? strtoull(size, NULL, 10) : 0;
	if (time)
		(void)response_time(time, &listed.modified);
	listed.tag = tag ?: "";
	return keys->walk->ask->found(keys->walk->ask->context, &listed, err);
}

/* Of a look, from the end of the last one. */
static int make_range(struct keys *keys, char *until)
{
	struct chain range = *keys->chain;

	range.together = 0;
	range.until = until;
	return walk_add(keys->walk, &range, strlen(range.prefix));
}

static int take_folder(struct keys *keys, const char *block, struct err *err)
{
	struct chain *chain = keys->chain;
	SCOPE_FREE char *folder = NULL, *until = NULL;
	int r = take_text(keys, block, "Prefix", &folder, err);

	if (r != 0)
		return r < 0 ? r : 0;
	if (strlen(folder) <= strlen(chain->prefix) || folder[strlen(folder) - 1] != '/')
		return err_set(err, -EPROTO, "its listing has a folder that is none");
	r = take_name(keys, folder);
	if (r <= 0 || ++chain->named % chain->together != 0)
		return r < 0 ? r : 0;
	if (asprintf(&until, "%s" LAST, folder) < 0) {
		until = NULL;
		return -ENOMEM;
	}
	r = make_range(keys, until);
	free(chain->after);
	chain->after = steal_ptr(&until);
	return r;
}

/* Not by strstr(), with which a sanitizer measures all of a page for each block. */
static char *find_tag(char *at, const char *end, const char *tag)
{
	size_t len = strlen(tag);

	for (; (at = memchr(at, '<', (size_t)(end - at))); at++)
		if ((size_t)(end - at) >= len && memcmp(at, tag, len) == 0)
			return at;
	return NULL;
}

/* Calls `take` for each block of this name, of which it gets what is inside. */
static int for_blocks(struct keys *keys, char *body, const char *begin, const char *end,
		      int (*take)(struct keys *keys, const char *block, struct err *err),
		      struct err *err)
{
	const char *all = body + strlen(body);
	int r = 0;

	while (r == 0 && (body = find_tag(body, all, begin))) {
		char *stop = find_tag(body, all, end);

		if (!stop)
			return err_set(err, -EPROTO, "the listing is cut");
		*stop = '\0';
		r = take(keys, body + strlen(begin), err);
		*stop = *end;
		body = stop + strlen(end);
	}
	return r;
}

/* What is behind the last key, which is in a folder. Returns 0, 1 (it goes on: a look would begin
 * before that key) or -ENOMEM. */
static int split(const struct keys *keys)
{
	struct chain *chain = keys->chain;
	size_t begin = strlen(chain->prefix), end = begin + strcspn(keys->last + begin, "/") + 1;
	struct chain inside = {.prefix = keys->last, .after = keys->last}, look = *chain;
	SCOPE_FREE char *after = NULL;
	int r = 0;

	if (asprintf(&after, "%.*s" LAST, (int)end, keys->last) < 0) {
		after = NULL;
		return -ENOMEM;
	}
	if (strcmp(keys->last, after) > 0)
		return 1;
	look.after = after;
	look.together = (unsigned)keys->folders * FILLED / 100 ?: 1;
	if (!*chain->until || strcmp(after, chain->until) < 0)
		r = walk_add(keys->walk, &look, begin);
	return r < 0 ? r : walk_add(keys->walk, &inside, end);
}

static int add_first(struct walk *walk)
{
	return walk_add(walk, &(struct chain){.prefix = (char *)(uintptr_t)walk->folder},
			strlen(walk->folder));
}

/* The chain goes on, or others do in its place, or it was the last page. */
static int go_on(struct chain **chain, struct keys *keys, char **token, struct err *err)
{
	struct chain *known = *chain;
	bool last = !*token || keys->ended;
	int r = 1;

	if (keys->odd) {
		walk_drop(keys->walk); /* what is under way does not count */
		keys->walk->ordered = false;
		return add_first(keys->walk);
	}
	if (known->together && (last || !keys->last))
		return known->named || *token ? make_range(keys, known->until) : 0;
	if (last)
		return 0;
	if (keys->folders && keys->folders * SMALL <= keys->names &&
	    (keys->folders == 1 || !*known->until) &&
	    strchr(keys->last + strlen(known->prefix), '/'))
		r = split(keys);
	return r <= 0 ? r : walk_again(keys->walk, chain, token, err);
}

/* A server that does not know this kind of listing says that it is truncated, and no token. */
static int find_next(const char *body, char **ret, struct err *err)
{
	SCOPE_FREE char *truncated = NULL;
	int r = response_xml(body, "NextContinuationToken", ret);

	if (r == 0 && strlen(*ret) > BOUND_NEXT)
		return walk_refuse_next(err);
	if (r == 1)
		r = response_xml(body, "IsTruncated", &truncated);
	if (r == 0 && truncated && strcmp(truncated, "true") == 0)
		r = err_set(err, -EPROTO, "its listing goes on, and the server does not say how");
	return r < 0 ? r : 0;
}

static int turn_bucket(struct walk *walk, struct chain **turned, struct err *err)
{
	struct chain *chain = *turned;
	char *body = chain->page.body;
	SCOPE_FREE char *encoding = NULL, *token = NULL;
	struct keys keys = {.walk = walk, .chain = chain};
	int r = response_xml(body, "EncodingType", &encoding);

	if (chain->ordered != walk->ordered)
		return 0;
	keys.encoded = r == 0 && strcmp(encoding, "url") == 0;
	if (!strstr(body, "<ListBucketResult"))
		return err_set(err, -EPROTO, "the answer is no listing of a bucket");
	if (!strstr(body, "</ListBucketResult>"))
		return err_set(err, -EPROTO, "the listing is cut");
	if (r >= 0)
		r = find_next(body, &token, err);
	if (r == 0)
		r = chain->together
			    ? for_blocks(&keys, body, "<CommonPrefixes>", "</CommonPrefixes>",
					 take_folder, err)
			    : for_blocks(&keys, body, "<Contents>", "</Contents>", take_key, err);
	chain->named += strstr(body, "<Contents>") != NULL;
	if (r == 0)
		r = go_on(turned, &keys, &token, err);
	free(keys.last);
	return r;
}

static int refuse_bucket(struct object_auth *auth, const struct object_answer *answer,
			 struct err *err)
{
	struct err why = {0};
	int r = auth->ops->refused(auth, answer, &why);

	return r < 0 ? err_set(err, r,
			       "the bucket is not listed, which takes the permission "
			       "to list it: %s",
			       err_text(&why, r))
		     : r;
}

/* --- the place -------------------------------------------------------------------------------- */

static int list_bucket(const struct listed_place *place, const char *prefix, struct listed_ask *ask,
		       struct err *err)
{
	struct walk walk = {.ask = ask,
			    .place = place,
			    .folder = prefix,
			    .ordered = ask->split,
			    .make = make_query,
			    .turn = turn_bucket,
			    .refused = refuse_bucket};
	int r = add_first(&walk);

	return r < 0 ? r : walk_all(&walk, err);
}

int listed_all(const struct listed_place *place, const char *folder, struct listed_ask *ask,
	       struct err *err)
{
	return place->of_hub ? listed_hub(place, folder, ask, err)
			     : list_bucket(place, folder, ask, err);
}

int listed_open(const char *name, const struct remote_settings *settings, struct remote *remote,
		struct listed_place *ret, struct err *err)
{
	struct listed_place place = {.name = name,
				     .settings = settings,
				     .remote = remote,
				     .of_hub = name_has_scheme(name, "hf"),
				     .path = s3_key(name)};
	SCOPE_FREE char *bucket = NULL;
	int r = place.of_hub ? hub_parse(name, &place.hub, err) : 0;

	if (r < 0)
		return r;
	if (place.of_hub) {
		place.root = place.hub.len;
		place.path = place.hub.path;
		r = listed_hub_auth(&place.hub, settings, &place.auth, err);
	} else {
		place.root = (int)(place.path - name) - 1;
		bucket = strndup(name, (size_t)(place.path - name));
		r = bucket ? s3_auth_new(bucket, settings, remote, &place.auth, err) : -ENOMEM;
	}
	if (r == 0)
		*ret = place;
	return r;
}
