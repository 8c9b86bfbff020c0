#include "remote/listing.h"
#include "base/name.h"
#include "base/scope.h"
#include "remote/bounds.h"
#include "remote/listed.h"
#include "remote/page.h"
#include "remote/s3.h"
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define WILD "*?["

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
	unsigned taken;		    /* names */
	struct buf names[OTHER];    /* without a pattern: those of each kind, */
	unsigned counts[OTHER + 1]; /* and their number */
};

/* Of a folder, they stand for themselves. */
static bool has_wildcard(const char *path)
{
	return strpbrk(path, WILD) && path[strlen(path) - 1] != '/';
}

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

/* --- buckets ---------------------------------------------------------------------------------- */

static const char *key_of(const char *name)
{
	const char *bucket = name + name_scheme(name) + strlen("://");
	size_t len = strcspn(bucket, "/");

	return bucket + len + (bucket[len] == '/');
}

bool s3_is_pattern(const char *name)
{
	return has_wildcard(key_of(name));
}

static int take_listed(void *context, const struct listed *listed, struct err *err)
{
	return *listed->path ? take_path(context, listed->path, err) : 0;
}

int s3_list(const char *name, const struct remote_settings *settings,
	    credentials_fetch_fn *fetch_from, struct remote *remote, struct buf *ret,
	    struct err *err)
{
	const char *pattern = key_of(name);
	struct listing listing = {
		.name = name, .root = (int)(pattern - name) - 1, .pattern = pattern, .found = ret};
	struct listed_ask ask = {.name = name,
				 .settings = settings,
				 .remote = remote,
				 .pages = BOUND_PAGES,
				 .found = take_listed,
				 .context = &listing};
	SCOPE_FREE char *prefix = strndup(pattern, strcspn(pattern, WILD)), *any = NULL;
	struct object_auth *auth;
	struct err reason = {0};
	int r = 0;

	if (!prefix || asprintf(&any, "%.*s/" PAGE_ANY_KEY, listing.root, name) < 0)
		return -ENOMEM;
	r = s3_auth_new(any, settings, fetch_from, remote, &auth, &reason);
	if (r == 0) {
		r = listed_bucket(&ask, auth, prefix, &reason);
		auth->ops->free(auth);
	}
	if (r < 0)
		return err_set(err, r, "%s: %s", name, err_text(&reason, r));
	return ret->len ? 0 : err_set(err, -ENOENT, "'%s' matches no object", name);
}

/* --- the Hub ---------------------------------------------------------------------------------- */

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

/* Lists the folder that all files of the pattern are in. */
static int list_dataset(struct listing *listing, const struct hub_name *parts,
			const struct remote_settings *settings, struct remote *remote,
			struct err *err)
{
	struct listed_ask ask = {.name = listing->name,
				 .settings = settings,
				 .remote = remote,
				 .pages = BOUND_PAGES,
				 .found = take_listed,
				 .context = listing};
	size_t plain = strcspn(parts->path, WILD);
	const char *slash = memrchr(parts->path, '/', plain);
	SCOPE_FREE char *folder =
		strndup(parts->path, slash ? (size_t)(slash + 1 - parts->path) : 0);
	struct object_auth *auth;
	int r = folder ? listed_hub_auth(parts, settings, &auth, err) : -ENOMEM;

	if (r == 0) {
		r = listed_hub(&ask, auth, parts, folder, err);
		auth->ops->free(auth);
	}
	return r;
}

bool hub_is_pattern(const char *name)
{
	struct hub_name parts;

	return hub_parse(name, &parts, NULL) == 0 && (!name[parts.len] || has_wildcard(parts.path));
}

int hub_list(const char *name, const struct remote_settings *settings, struct remote *remote,
	     struct buf *ret, struct err *err)
{
	struct hub_name parts;
	struct listing listing = {.name = name, .found = ret};
	struct err reason = {0};
	int r = hub_parse(name, &parts, err);

	if (r < 0)
		return r;
	listing.pattern = parts.path;
	listing.root = parts.len;
	r = list_dataset(&listing, &parts, settings, remote, &reason);
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
