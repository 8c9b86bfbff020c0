#include "fs/stat/snapshot.h"
#include "base/buf.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "base/utf8.h"
#include <errno.h>
#include <json-c/json.h>
#include <json-c/json_visit.h>
#include <string.h>

/* A preload leaves an eighth of the pool free, and what is too little for one more read. */
#define PRELOAD_RUN (4 * MIB)

const char *const snapshot_requests[] = {
#define REQUEST(word, ...) "/requests/" #word,
#include "fs/stats.def"
	NULL};

static void scope_tokener(struct json_tokener **tokener)
{
	if (*tokener)
		json_tokener_free(*tokener);
}

static int escape_text(struct json_object *text, int flags, struct json_object *parent,
		       const char *key, size_t *index, void *arg)
{
	SCOPE(buf_release) struct buf shown = BUF_INIT;
	const char *said;
	int r;

	(void)flags, (void)parent, (void)key, (void)index, (void)arg;
	if (!json_object_is_type(text, json_type_string))
		return JSON_C_VISIT_RETURN_CONTINUE;
	said = json_object_get_string(text);
	r = utf8_add_shown(&shown, said, strlen(said));
	if (r < 0 || (shown.len && !json_object_set_string(text, shown.data)))
		return JSON_C_VISIT_RETURN_ERROR;
	return JSON_C_VISIT_RETURN_CONTINUE;
}

int snapshot_parse(const char *json, size_t len, double at, struct snapshot *ret, struct err *err)
{
	SCOPE(scope_tokener) struct json_tokener *tokener = json_tokener_new();
	SCOPE(snapshot_release) struct snapshot s = {.at = at};

	if (!tokener)
		return -ENOMEM;
	s.stats = json_tokener_parse_ex(tokener, json, (int)len);
	if (!json_object_is_type(s.stats, json_type_object))
		return err_set(err, -EPROTO, "its stats are not a JSON object");
	if (json_c_visit(s.stats, 0, escape_text, NULL) < 0)
		return -ENOMEM;
	*ret = s;
	s.stats = NULL;
	return 0;
}

void snapshot_release(struct snapshot *s)
{
	json_object_put(s->stats);
	s->stats = NULL;
}

void snapshot_assign(struct snapshot *s, const struct snapshot *other)
{
	struct json_object *before = s->stats;

	*s = (struct snapshot){other->at, json_object_get(other->stats)};
	json_object_put(before);
}

struct snapshot snapshot_origin(const struct snapshot *now)
{
	uint64_t uptime = snapshot_count(now, "/uptime_s");

	return (struct snapshot){.at = now->at - (double)(uptime ? uptime : 1)};
}

bool snapshot_follows(const struct snapshot *before, const struct snapshot *after)
{
	const char *asked = "/requests/getxattr", *uptime = "/uptime_s";

	return snapshot_count(after, asked) > snapshot_count(before, asked) &&
	       snapshot_count(after, uptime) >= snapshot_count(before, uptime);
}

/* --- members ----------------------------------------------------------------------------- */

struct json_object *snapshot_member(const struct snapshot *s, const char *member,
				    enum json_type type)
{
	struct json_object *found = NULL;

	if (!s->stats || json_pointer_get(s->stats, member, &found) < 0)
		return NULL;
	return json_object_is_type(found, type) ? found : NULL;
}

/* Without json_object_get_uint64(), which json-c has since 0.14. */
uint64_t snapshot_count(const struct snapshot *s, const char *member)
{
	int64_t value = json_object_get_int64(snapshot_member(s, member, json_type_int));

	return value > 0 ? (uint64_t)value : 0;
}

/* A real number that happens to be whole arrives as an integer. */
double snapshot_real(const struct snapshot *s, const char *member)
{
	struct json_object *real = snapshot_member(s, member, json_type_double);

	return real ? json_object_get_double(real) : (double)snapshot_count(s, member);
}

bool snapshot_flag(const struct snapshot *s, const char *member)
{
	return json_object_get_boolean(snapshot_member(s, member, json_type_boolean));
}

const char *snapshot_text(const struct snapshot *s, const char *member)
{
	struct json_object *text = snapshot_member(s, member, json_type_string);

	return text ? json_object_get_string(text) : "";
}

const char *snapshot_element(struct json_object *array, size_t number)
{
	struct json_object *text = json_object_array_get_idx(array, number);

	return json_object_is_type(text, json_type_string) ? json_object_get_string(text) : "";
}

uint64_t snapshot_grown(const struct snapshot *before, const struct snapshot *after,
			const char *member)
{
	return snapshot_count(after, member) - snapshot_count(before, member);
}

uint64_t snapshot_files(const struct snapshot *before, const struct snapshot *after)
{
	return max(snapshot_grown(before, after, "/served_files"),
		   snapshot_grown(before, after, "/requests/ioctl"));
}

bool snapshot_says(const struct snapshot *s, const char *member, const char *text)
{
	return strcmp(snapshot_text(s, member), text) == 0;
}

bool snapshot_is_shrunk(const struct snapshot *s)
{
	uint64_t limit = snapshot_count(s, "/pool/limit");

	return limit && limit < snapshot_count(s, "/pool/budget");
}

unsigned snapshot_preloaded(const struct snapshot *s)
{
	uint64_t done = snapshot_count(s, "/preloaded"), all = snapshot_count(s, "/pack/bytes");

	return done < all ? (unsigned)(100 * snapshot_share((double)done, (double)all)) : 100;
}

bool snapshot_preload_waits(const struct snapshot *s)
{
	uint64_t limit = snapshot_count(s, "/pool/limit");

	return snapshot_count(s, "/preloaded") < snapshot_count(s, "/pack/bytes") &&
	       snapshot_count(s, "/pool/used") + limit / 8 + PRELOAD_RUN > limit;
}
