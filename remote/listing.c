#include "remote/listing.h"
#include "base/name.h"
#include "base/scope.h"
#include "remote/bounds.h"
#include "remote/listed.h"
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

/* Takes the path of a file if it matches. */
static int take_path(void *context, const struct listed *listed, struct err *err)
{
	struct listing *listing = context;
	const char *path = listed->path;

	if (!*path)
		return 0;
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

/* --- without a pattern ------------------------------------------------------------------------ */

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

/* --- the face --------------------------------------------------------------------------------- */

bool listing_is_pattern(const char *name)
{
	struct hub_name parts;

	if (!name_has_scheme(name, "hf"))
		return has_wildcard(s3_key(name));
	return hub_parse(name, &parts, NULL) == 0 && (!name[parts.len] || has_wildcard(parts.path));
}

/* What all files of a pattern begin with; of the Hub, up to the folder that they are in. */
static size_t plain_len(const struct listed_place *place)
{
	size_t plain = strcspn(place->path, WILD);
	const char *slash = memrchr(place->path, '/', plain);

	if (!place->of_hub)
		return plain;
	return slash ? (size_t)(slash + 1 - place->path) : 0;
}

static int find_listed(struct listing *listing, const struct listed_place *place,
		       struct listed_ask *ask, struct err *err)
{
	SCOPE_FREE char *above = strndup(place->path, plain_len(place));
	struct err reason = {0};
	int r = above ? listed_all(place, above, ask, &reason) : -ENOMEM;

	if (r < 0)
		return err_set(err, r, "%s: %s", place->name, err_text(&reason, r));
	if (!*place->path)
		return choose_kind(listing, err);
	return listing->found->len ? 0
				   : err_set(err, -ENOENT, "'%s' matches no %s", place->name,
					     place->of_hub ? "file" : "object");
}

int listing_find(const char *name, const struct remote_settings *settings, struct remote *remote,
		 struct buf *ret, struct err *err)
{
	struct listing listing = {.name = name, .found = ret};
	struct listed_ask ask = {.pages = BOUND_PAGES, .found = take_path, .context = &listing};
	struct listed_place place;
	struct err reason = {0};
	int r = listed_open(name, settings, remote, &place, &reason);

	if (r < 0)
		return err_set(err, r, "%s: %s", name, err_text(&reason, r));
	listing.root = place.root;
	listing.pattern = place.path;
	r = find_listed(&listing, &place, &ask, err);
	place.auth->ops->free(place.auth);
	for (enum kind i = 0; i < OTHER; i++)
		buf_release(&listing.names[i]);
	return r;
}
