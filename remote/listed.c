/* A bucket is listed in the order of its keys, a page after the other. A request with a delimiter
 * names the folders at one level in the place of what is in them, and costs no more. So all folders
 * could be asked for by themselves, side by side; but a million folders of one file each would
 * then take a million requests, and not a thousand pages.
 *
 * So a folder is asked for without a delimiter first: `deep`. If all of it fits into a page, that
 * was the only request. If not, the page tells how large folders are at each level, and what is
 * behind its last key K is split at its levels. With K = a/b/c/x, this is all of it, with
 * `AFTER_ALL` above all names of a folder:
 *
 *	a/b/c/	after a/b/c/x
 *	a/b/	after a/b/c/ AFTER_ALL
 *	a/	after a/b/ AFTER_ALL
 *	""	after a/ AFTER_ALL
 *
 * Each goes on page by page, with a delimiter; the folders that it names begin as the first one
 * did. But from the level on at which folders are small, all below it goes on without one. What a
 * server sends that takes no start-after is left out where it has been found: it sends what is at
 * the place to begin behind, too. One that does not, but something before, has another order, of
 * folders say, and what is left out may not have been found. A folder that has a million files
 * itself, and no folders, is a thousand pages one after the other. */
#include "base/name.h"
#include "base/scope.h"
#include "remote/bearer.h"
#include "remote/bounds.h"
#include "remote/listed_walk.h"
#include "remote/response.h"
#include <string.h>

#define AT_ONCE	  128
#define SMALL	  16		     /* files of a folder that is not worth a request of its own */
#define AFTER_ALL "\xf4\x8f\xbf\xbf" /* the last character of Unicode */

void chain_free(struct chain *chain)
{
	if (!chain)
		return;
	free(chain->prefix);
	free(chain->after);
	free(chain->token);
	free(chain->url);
	free(chain->mark);
	free(chain);
}

void chain_release(struct chain **chain)
{
	chain_free(*chain);
}

static void push_chain(struct walk *walk, struct chain *chain)
{
	chain->next = walk->chains;
	walk->chains = chain;
}

/* Copies what is not NULL. */
int walk_add(struct walk *walk, bool deep, const char *prefix, size_t prefix_len, const char *after)
{
	struct chain *chain = calloc(1, sizeof(*chain));

	if (!chain)
		return -ENOMEM;
	chain->deep = deep;
	chain->prefix = strndup(prefix, prefix_len);
	chain->after = after ? strdup(after) : NULL;
	if (!chain->prefix || (after && !chain->after)) {
		chain_free(chain);
		return -ENOMEM;
	}
	push_chain(walk, chain);
	return 0;
}

int walk_refuse_next(struct err *err)
{
	return err_set(err, -EMSGSIZE, "what names its next page has over %u KiB",
		       (unsigned)(BOUND_NEXT / KIB));
}

int walk_refuse_long(struct err *err)
{
	return err_set(err, -E2BIG, "it has a name of over %u KiB", (unsigned)(BOUND_NAME / KIB));
}

int walk_refuse_other(struct err *err)
{
	return err_set(err, -EPROTO, "its listing has what was not asked for");
}

int walk_note(struct walk *walk, const char *name)
{
	if (!walk->first && *name)
		walk->first = strdup(name);
	return walk->first || !*name ? 0 : -ENOMEM;
}

/* A page that begins as one before did, or is empty and leads on as that did, would come again and
 * again. Each is compared with the last of the 1st, 2nd, 4th and so on, as Brent finds cycles. */
int walk_again(struct walk *walk, struct chain **chain, const char *next, struct err *err)
{
	struct chain *known = *chain;
	SCOPE_FREE char *mark = NULL;

	if (asprintf(&mark, "%s%s", walk->first ? "" : "?", walk->first ?: next) < 0) {
		mark = NULL;
		return -ENOMEM;
	}
	if (known->mark && strcmp(known->mark, mark) == 0)
		return err_set(err, -EPROTO, "its listing has a page that comes again and again");
	if ((known->pages & (known->pages - 1)) == 0) {
		free(known->mark);
		known->mark = steal_ptr(&mark);
	}
	known->pages++;
	push_chain(walk, steal_ptr(chain));
	return 0;
}

/* --- the query of a page ---------------------------------------------------------------------- */

/* Sorted by name, as signatures want it. */
static int make_query(const struct chain *chain, char **ret)
{
	SCOPE(buf_release) struct buf query = BUF_INIT;

	buf_adds(&query, "?");
	if (chain->token) {
		buf_adds(&query, "continuation-token=");
		url_encode(&query, chain->token, "");
		buf_adds(&query, "&");
	}
	buf_addf(&query,
		 "%sencoding-type=url&list-type=2&prefix=", chain->deep ? "" : "delimiter=%2F&");
	url_encode(&query, chain->prefix, "");
	if (chain->after && !chain->token) {
		buf_adds(&query, "&start-after=");
		url_encode(&query, chain->after, "");
	}
	if (buf_adds(&query, "") < 0)
		return -ENOMEM;
	*ret = steal_ptr(&query.data);
	return 0;
}

/* Asks for the next page of chains, as long as there is place. */
static int ask_chains(struct walk *walk, struct err *err)
{
	struct chain *chain;
	int r = 0;

	while (r == 0 && walk->under_way < AT_ONCE && (chain = walk->chains)) {
		char *text = steal_ptr(&chain->url);

		if (walk->asked++ == walk->ask->pages)
			r = err_set(err, -E2BIG, "its listing has over %u pages", walk->ask->pages);
		if (r == 0 && !text)
			r = make_query(chain, &text);
		if (r < 0) {
			free(text);
			return r;
		}
		walk->chains = chain->next;
		r = pages_ask(walk->pages, text, chain);
		if (r < 0)
			chain_free(chain);
		else
			walk->under_way++;
	}
	return r;
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
	struct buf names; /* of a page that may be split, each with a NUL; */
	size_t last;	  /* in them, the last one */
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
	if (strlen(text) > BOUND_NAME)
		return walk_refuse_long(err);
	if (*text && strncmp(text, keys->chain->prefix, strlen(keys->chain->prefix)) != 0)
		return walk_refuse_other(err);
	r = walk_note(keys->walk, text);
	if (r == 0)
		*ret = steal_ptr(&text);
	return r;
}

/* Whether another chain finds it. */
static bool is_before(struct chain *chain, const char *name)
{
	size_t len = strlen(name);

	if (!chain->after || strcmp(name, chain->after) > 0)
		return false;
	chain->before = true;
	chain->at |= strncmp(name, chain->after, len) == 0 &&
		     (chain->after[len] == '\0' || strcmp(chain->after + len, AFTER_ALL) == 0);
	return true;
}

/* The first page tells. */
static bool may_split(const struct walk *walk, const struct chain *chain)
{
	return walk->ask->split && chain->deep && !chain->token && !chain->after;
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
	if (r < 0 || !key || (*key && is_before(keys->chain, key)))
		return r < 0 ? r : 0;
	listed.path = key;
	listed.size = size ? strtoull(size, NULL, 10) : 0;
	listed.modified = time ? response_time(time) : 0;
	listed.tag = tag ?: "";
	if (*key && may_split(keys->walk, keys->chain)) {
		keys->last = keys->names.len;
		r = buf_add(&keys->names, key, strlen(key) + 1);
	}
	return r < 0 ? r : keys->walk->ask->found(keys->walk->ask->context, &listed, err);
}

/* A folder that leads nowhere further would be asked for again and again. */
static int take_folder(struct keys *keys, const char *block, struct err *err)
{
	SCOPE_FREE char *folder = NULL;
	size_t len, above = strlen(keys->chain->prefix);
	int r = take_text(keys, block, "Prefix", &folder, err);

	if (r != 0)
		return r < 0 ? r : 0;
	len = strlen(folder);
	if (len <= above || folder[len - 1] != '/')
		return err_set(err, -EPROTO, "its listing has a folder that is none");
	return is_before(keys->chain, folder) ? 0 : walk_add(keys->walk, true, folder, len, NULL);
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

/* The end of the folder that is so many levels below `begin`; NULL: the key is not so deep. */
static const char *folder_end(const char *key, size_t begin, unsigned level)
{
	const char *at = strchr(key + begin, '/');

	while (at && level--)
		at = strchr(at + 1, '/');
	return at;
}

/* Whether the folders so many levels below the prefix are small, as those in the page are. */
static bool are_small(const struct keys *keys, unsigned level)
{
	size_t begin = strlen(keys->chain->prefix), count = 0, folders = 0, len = 0;
	const char *names = keys->names.data, *before = "";

	for (size_t at = 0; at < keys->names.len; at += strlen(names + at) + 1) {
		const char *key = names + at, *end = folder_end(key, begin, level);

		count++;
		if (end && (len != (size_t)(end - key) || strncmp(before, key, len) != 0)) {
			folders++;
			before = key;
			len = (size_t)(end - key);
		}
	}
	return folders * SMALL > count;
}

/* What is behind the last key. */
static int split(const struct keys *keys)
{
	const char *last = keys->names.data + keys->last;
	size_t begin = strlen(keys->chain->prefix);
	unsigned level = 0;
	int r = 0;

	while (r == 0 && last[begin + strcspn(last + begin, "/")] == '/' &&
	       !are_small(keys, level++)) {
		SCOPE(buf_release) struct buf after = BUF_INIT;
		size_t end = begin + strcspn(last + begin, "/") + 1;

		r = buf_addf(&after, "%.*s" AFTER_ALL, (int)end, last);
		if (r == 0)
			r = walk_add(keys->walk, false, last, begin, after.data);
		begin = end;
	}
	return r < 0 ? r
		     : walk_add(keys->walk, last[begin + strcspn(last + begin, "/")] == '/', last,
				begin, last);
}

/* The chain goes on, or others do in its place. */
static int go_on(struct chain **chain, const struct keys *keys, char *token, struct err *err)
{
	if (keys->names.len && !are_small(keys, 0)) {
		free(token);
		return split(keys);
	}
	free((*chain)->token);
	(*chain)->token = token;
	return walk_again(keys->walk, chain, token, err);
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

static int turn_bucket(struct walk *walk, struct page *page, struct err *err)
{
	SCOPE(chain_release) struct chain *chain = page->of;
	SCOPE_FREE char *encoding = NULL, *token = NULL;
	struct keys keys = {.walk = walk, .chain = chain};
	int r = response_xml(page->body, "EncodingType", &encoding);

	keys.encoded = r == 0 && strcmp(encoding, "url") == 0;
	if (!strstr(page->body, "<ListBucketResult"))
		return err_set(err, -EPROTO, "the answer is no listing of a bucket");
	if (!strstr(page->body, "</ListBucketResult>"))
		return err_set(err, -EPROTO, "the listing is cut");
	if (r >= 0)
		r = find_next(page->body, &token, err);
	if (r == 0)
		r = for_blocks(&keys, page->body, "<Contents>", "</Contents>", take_key, err);
	if (r == 0 && !chain->deep)
		r = for_blocks(&keys, page->body, "<CommonPrefixes>", "</CommonPrefixes>",
			       take_folder, err);
	if (r == 0 && !token && chain->before && !chain->at)
		r = err_set(err, -EPROTO,
			    "the server lists keys in another order than S3 does, and some would "
			    "be missing: copy them into a folder, and take that");
	if (r == 0 && token)
		r = go_on(&chain, &keys, steal_ptr(&token), err);
	buf_release(&keys.names);
	return r;
}

static int refuse_bucket(struct object_auth *auth, const struct object_answer *answer,
			 bool authorized, struct err *err)
{
	struct err why = {0};
	int r = auth->ops->refused(auth, answer, &why);

	(void)authorized;
	return r < 0 ? err_set(err, r,
			       "the bucket is not listed, which takes the permission "
			       "to list it: %s",
			       err_text(&why, r))
		     : r;
}

/* --- all pages -------------------------------------------------------------------------------- */

static int take_next(struct walk *walk, struct page *page, struct err *err)
{
	walk->under_way--;
	free(steal_ptr(&walk->first));
	if (page->error == 0)
		return walk->turn(walk, page, err);
	chain_free(page->of);
	return err_set(err, page->error, "%s", err_text(&page->why, page->error));
}

static void forget_chains(struct walk *walk)
{
	struct chain *chain;
	struct page *page;

	pages_end(walk->pages);
	while ((page = pages_next(walk->pages))) {
		chain_free(page->of);
		page_free(page);
	}
	walk->ask->requests = pages_free(walk->pages);
	free(walk->first);
	while ((chain = walk->chains)) {
		walk->chains = chain->next;
		chain_free(chain);
	}
}

int walk_all(struct walk *walk, page_refused_fn *refused, struct err *err)
{
	const struct listed_ask *ask = walk->ask;
	int r = pages_new(walk->auth, refused, ask->settings, ask->remote, &walk->pages, err);

	if (r < 0) {
		chain_free(walk->chains);
		return r;
	}
	while (r == 0) {
		SCOPE(page_release) struct page *page = NULL;

		r = ask_chains(walk, err);
		page = r == 0 ? pages_next(walk->pages) : NULL;
		if (!page)
			break;
		r = take_next(walk, page, err);
	}
	forget_chains(walk);
	return r;
}

int listed_bucket(struct listed_ask *ask, struct object_auth *auth, const char *prefix,
		  struct err *err)
{
	struct walk walk = {.ask = ask, .auth = auth, .turn = turn_bucket};
	int r = walk_add(&walk, true, prefix, strlen(prefix), NULL);

	return r < 0 ? r : walk_all(&walk, refuse_bucket, err);
}
