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
#define COUNT(name, group, member) [COUNT_##name] = {group, member},
	SNAPSHOT_COUNTS(COUNT)
#undef COUNT
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

/* The member, if it is there and of that type; else NULL, which json-c takes for 0 and "". A number
 * with a fraction may be whole. */
static struct json_object *find(struct json_object *root, const char *group, const char *name,
				enum json_type type)
{
	struct json_object *object = root, *member;

	if (group && !json_object_object_get_ex(root, group, &object))
		return NULL;
	if (!json_object_object_get_ex(object, name, &member))
		return NULL;
	if (type == json_type_double && json_object_is_type(member, json_type_int))
		return member;
	return json_object_is_type(member, type) ? member : NULL;
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

static void parse_texts(struct json_object *root, struct snapshot *s)
{
	const struct {
		const char *group, *name;
		char *field;
		size_t size;
	} texts[] = {
		{NULL, "version", s->version, sizeof(s->version)},
		{NULL, "id", s->id, sizeof(s->id)},
		{"pack", "path", s->pack, sizeof(s->pack)},
		{"pool", "policy", s->policy, sizeof(s->policy)},
		{"oracle", "state", s->oracle, sizeof(s->oracle)},
		{"oracle", "why", s->why, sizeof(s->why)},
		{"oracle", "sampler", s->sampler, sizeof(s->sampler)},
		{"oracle", "list", s->list, sizeof(s->list)},
		{NULL, "cache_mode", s->cache, sizeof(s->cache)},
		{NULL, "io", s->io, sizeof(s->io)},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct json_object *text =
			find(root, texts[i].group, texts[i].name, json_type_string);

		if (text)
			copy_shown(json_object_get_string(text), texts[i].field, texts[i].size);
	}
}

static void parse_numbers(struct json_object *root, struct snapshot *s)
{
	for (unsigned i = 0; i < COUNT_COUNT; i++)
		s->counts[i] = json_object_get_uint64(
			find(root, places[i].group, places[i].name, json_type_int));
	s->amplification =
		json_object_get_double(find(root, NULL, "amplification", json_type_double));
	s->search_s = json_object_get_double(find(root, "oracle", "search_s", json_type_double));
	s->changed = find(root, NULL, "changed", json_type_boolean) &&
		     json_object_get_boolean(find(root, NULL, "changed", json_type_boolean));
}

static void parse_log(struct json_object *root, struct snapshot *s)
{
	struct json_object *log = find(root, NULL, "log", json_type_array);
	size_t lines = log ? json_object_array_length(log) : 0;

	for (size_t i = 0; i < lines && s->log_lines < SNAPSHOT_LOG; i++) {
		struct json_object *line = json_object_array_get_idx(log, i);

		if (json_object_is_type(line, json_type_string))
			copy_shown(json_object_get_string(line), s->log[s->log_lines++],
				   sizeof(s->log[0]));
	}
}

int snapshot_parse(const char *json, size_t len, double at, struct snapshot *ret, struct err *err)
{
	SCOPE(scope_tokener) struct json_tokener *tokener = json_tokener_new();
	SCOPE(scope_json) struct json_object *root = NULL;
	struct snapshot s = {.at = at};

	if (!tokener)
		return -ENOMEM;
	root = json_tokener_parse_ex(tokener, json, (int)len);
	if (!json_object_is_type(root, json_type_object))
		return err_set(err, -EPROTO, "its stats are not a JSON object");
	parse_texts(root, &s);
	parse_numbers(root, &s);
	parse_log(root, &s);
	*ret = s;
	return 0;
}

bool snapshot_is_shrunk(const struct snapshot *s)
{
	return s->counts[COUNT_POOL_LIMIT] &&
	       s->counts[COUNT_POOL_LIMIT] < s->counts[COUNT_POOL_BUDGET];
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
