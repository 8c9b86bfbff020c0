#include "fs/stat/snapshot.h"
#include "base/scope.h"
#include "base/size.h"
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/* What a preload leaves of the pool: an eighth, and what is too little for one more read. */
#define PRELOAD_RUN (4 * MIB)

/* Where a count stands in the object; group NULL: at the top. */
static const struct place {
	const char *group, *name;
} places[COUNT_COUNT] = {
	[COUNT_UPTIME] = {NULL, "uptime_s"},
	[COUNT_FILES] = {"pack", "files"},
	[COUNT_BYTES] = {"pack", "bytes"},
	[COUNT_LOOKUP] = {"requests", "lookup"},
	[COUNT_GETATTR] = {"requests", "getattr"},
	[COUNT_READDIR] = {"requests", "readdir"},
	[COUNT_READDIRPLUS] = {"requests", "readdirplus"},
	[COUNT_OPEN] = {"requests", "open"},
	[COUNT_READ] = {"requests", "read"},
	[COUNT_GETXATTR] = {"requests", "getxattr"},
	[COUNT_IOCTL] = {"requests", "ioctl"},
	[COUNT_FORGET] = {"requests", "forget"},
	[COUNT_NOTIFY] = {"requests", "notify"},
	[COUNT_SERVED] = {NULL, "served_bytes"},
	[COUNT_DEVICE_READS] = {"device", "reads"},
	[COUNT_DEVICE_BYTES] = {"device", "bytes"},
	[COUNT_DEVICE_ERRORS] = {"device", "errors"},
	[COUNT_POOL_BUDGET] = {"pool", "budget"},
	[COUNT_POOL_LIMIT] = {"pool", "limit"},
	[COUNT_POOL_USED] = {"pool", "used"},
	[COUNT_POOL_HITS] = {"pool", "hits"},
	[COUNT_POOL_MISSES] = {"pool", "misses"},
	[COUNT_POOL_EVICTIONS] = {"pool", "evictions"},
	[COUNT_AHEAD_ISSUED] = {"prefetch", "issued"},
	[COUNT_AHEAD_USED] = {"prefetch", "used"},
	[COUNT_AHEAD_WASTED] = {"prefetch", "wasted"},
	[COUNT_PRELOADED] = {NULL, "preloaded"},
	[COUNT_WAIT_READS] = {"wait", "reads"},
	[COUNT_WAIT_US] = {"wait", "total_us"},
	[COUNT_WAIT_P50] = {"wait", "p50_us"},
	[COUNT_WAIT_P99] = {"wait", "p99_us"},
	[COUNT_ORDER_SEED] = {"oracle", "seed"},
	[COUNT_ORDER_EPOCH] = {"oracle", "epoch"},
	[COUNT_ORDER_POSITION] = {"oracle", "position"},
	[COUNT_ORDER_FILES] = {"oracle", "files"},
	[COUNT_ORDER_SEARCHES] = {"oracle", "searches"},
	[COUNT_ORDER_LOCKS] = {"oracle", "locks"},
	[COUNT_ORDER_UNLOCKS] = {"oracle", "unlocks"},
	[COUNT_BAD_FILES] = {NULL, "bad_files"},
	[COUNT_LENT] = {"pool", "lent"},
	[COUNT_LENT_LIMIT] = {"pool", "lent_limit"},
};

static void scope_tokener(struct json_tokener **tokener)
{
	if (*tokener)
		json_tokener_free(*tokener);
}

static void scope_json(struct json_object **object)
{
	json_object_put(*object);
}

/* The member, if it is there and of that type (json_type_null: of any); else NULL. */
static struct json_object *find(struct json_object *root, const char *group, const char *name,
				enum json_type type)
{
	struct json_object *object = root, *member;

	if (group && !json_object_object_get_ex(root, group, &object))
		return NULL;
	if (!json_object_object_get_ex(object, name, &member))
		return NULL;
	return json_object_is_type(member, type) ? member : NULL;
}

static int lacks(const struct snapshot *s, const char *group, const char *name, struct err *err)
{
	return err_set(err, -EPROTO,
		       "its stats have no '%s%s%s': foldfs %s and foldstat %s do not go together",
		       group ? group : "", group ? "." : "", name,
		       s->version[0] ? s->version : "(unknown)", FOLDFS_VERSION);
}

/* A path may hold anything; a terminal must not. */
static void copy_shown(const char *text, char *out, size_t room)
{
	for (; *text && room > sizeof("\\ooo"); text++) {
		unsigned char c = (unsigned char)*text;
		int len = snprintf(out, room, c < 0x20 || c == 0x7f ? "\\%03o" : "%c", c);

		out += len;
		room -= (size_t)len;
	}
	*out = '\0';
}

static int parse_text(struct json_object *root, const char *group, const char *name,
		      struct snapshot *s, char *field, size_t size, struct err *err)
{
	struct json_object *text = find(root, group, name, json_type_string);

	if (!text)
		return lacks(s, group, name, err);
	copy_shown(json_object_get_string(text), field, size);
	return 0;
}

static int parse_texts(struct json_object *root, struct snapshot *s, struct err *err)
{
	int r = parse_text(root, NULL, "version", s, s->version, sizeof(s->version), err);

	if (r == 0)
		r = parse_text(root, NULL, "id", s, s->id, sizeof(s->id), err);
	if (r == 0)
		r = parse_text(root, "pack", "path", s, s->pack, sizeof(s->pack), err);
	if (r == 0)
		r = parse_text(root, "pool", "policy", s, s->policy, sizeof(s->policy), err);
	if (r == 0)
		r = parse_text(root, "oracle", "state", s, s->oracle, sizeof(s->oracle), err);
	if (r == 0)
		r = parse_text(root, "oracle", "sampler", s, s->sampler, sizeof(s->sampler), err);
	if (r == 0)
		r = parse_text(root, "oracle", "list", s, s->list, sizeof(s->list), err);
	if (r == 0)
		r = parse_text(root, NULL, "cache_mode", s, s->cache, sizeof(s->cache), err);
	if (r == 0)
		r = parse_text(root, NULL, "io", s, s->io, sizeof(s->io), err);
	return r;
}

static int parse_counts(struct json_object *root, struct snapshot *s, struct err *err)
{
	for (unsigned i = 0; i < COUNT_COUNT; i++) {
		const struct place *place = &places[i];
		struct json_object *number = find(root, place->group, place->name, json_type_int);

		if (!number)
			return lacks(s, place->group, place->name, err);
		s->counts[i] = json_object_get_uint64(number);
	}
	return 0;
}

/* Whole or not; what is null as long as there is none is 0. */
static int parse_number(struct json_object *root, const char *group, const char *name,
			const struct snapshot *s, double *field, struct err *err)
{
	struct json_object *object = root, *number;

	if ((group && !json_object_object_get_ex(root, group, &object)) ||
	    !json_object_object_get_ex(object, name, &number))
		return lacks(s, group, name, err);
	*field = json_object_get_double(number);
	return 0;
}

int snapshot_parse(const char *json, size_t len, double at, struct snapshot *ret, struct err *err)
{
	SCOPE(scope_tokener) struct json_tokener *tokener = json_tokener_new();
	SCOPE(scope_json) struct json_object *root = NULL;
	struct snapshot s = {.at = at};
	int r;

	if (!tokener)
		return -ENOMEM;
	root = json_tokener_parse_ex(tokener, json, (int)len);
	if (!json_object_is_type(root, json_type_object))
		return err_set(err, -EPROTO, "its stats are not a JSON object");
	r = parse_texts(root, &s, err);
	if (r == 0)
		r = parse_counts(root, &s, err);
	if (r == 0)
		r = parse_number(root, NULL, "amplification", &s, &s.amplification, err);
	if (r == 0)
		r = parse_number(root, "oracle", "search_s", &s, &s.search_s, err);
	if (r == 0)
		*ret = s;
	return r;
}

bool snapshot_is_shrunk(const struct snapshot *s)
{
	return s->counts[COUNT_POOL_LIMIT] < s->counts[COUNT_POOL_BUDGET];
}

unsigned snapshot_preloaded(const struct snapshot *s)
{
	uint64_t done = s->counts[COUNT_PRELOADED], all = s->counts[COUNT_BYTES];

	return done < all ? (unsigned)(100 * snapshot_share((double)done, (double)all)) : 100;
}

bool snapshot_preload_waits(const struct snapshot *s)
{
	uint64_t limit = s->counts[COUNT_POOL_LIMIT];

	return s->counts[COUNT_PRELOADED] < s->counts[COUNT_BYTES] &&
	       s->counts[COUNT_POOL_USED] + limit / 8 + PRELOAD_RUN > limit;
}

struct snapshot snapshot_origin(const struct snapshot *now)
{
	uint64_t uptime = now->counts[COUNT_UPTIME];

	return (struct snapshot){.at = now->at - (double)(uptime ? uptime : 1)};
}
