#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/scope.h"
#include "fs/life/mountpoint.h"
#include "fs/mount_internal.h"
#include <string.h>

/* What the rows of stats.def take their values from. */
struct stats {
	struct mount *mount;
	const struct dataset_info *info;
	struct cache_stats cache;
	struct reader_stats server;
	bool far; /* there is a server */
	struct reader_blocks_stats disk;
	const char *disk_state;
};

static void report_option(void *context, const char *name, const char *value)
{
	char word[1024];

	snprintf(word, sizeof(word), value ? "%s=%s" : "%s", name, value);
	json_bytes(context, NULL, word, strlen(word));
}

static void report_line(void *context, const char *line)
{
	json_string(context, NULL, line);
}

static void report_stats(struct json *json, const struct stats *s, bool owner)
{
	struct mount *m = s->mount;

	json_object(json, NULL);
#define OBJECT(word, there) \
	if (there) {        \
		json_object(json, #word);
#define END             \
	json_end(json); \
	}
#define NUMBER(word, value)	      json_u64(json, #word, value);
#define COUNT(word, value, ...)	      NUMBER(word, value)
#define REQUEST(word, name)	      NUMBER(word, m->requests[REQUEST_##name])
#define REAL(word, value)	      json_double(json, #word, value);
#define FLAG(word, value)	      json_bool(json, #word, value);
#define STATE(word, value, ...)	      FLAG(word, value)
#define TEXT(word, value)	      json_string(json, #word, value);
#define LABEL(word, value, label)     BYTES(word, value, strlen(value))
#define BYTES(word, value, value_len) json_bytes(json, #word, value, value_len);
#define LIST(word, add)          \
	json_array(json, #word); \
	add;                     \
	json_end(json);
#define OWNER(...)          \
	if (owner) {        \
		__VA_ARGS__ \
	}
#include "fs/stats.def"
	json_end(json);
}

int mount_report(struct mount *mount, bool owner, struct buf *buf)
{
	struct json json = json_begin(buf);
	struct stats s = {.mount = mount, .info = dataset_info(mount->dataset)};

	cache_stats(mount->cache, &s.cache);
	s.far = reader_stats(reader_origin(dataset_reader(mount->dataset)), &s.server);
	if (mount->disk)
		s.disk_state = disk_cache_stats(mount->disk, &s.disk);
	report_stats(&json, &s, owner);
	return buf_error(buf);
}

/* --- mounts that are there -------------------------------------------------------------------- */

/* The next string of an array as it is written, with its quotes; NULL after the last. */
static const char *next_string(const char **at, size_t *ret_len)
{
	const char *begin = *at + strcspn(*at, "\"]"), *end = begin;

	if (*begin != '"')
		return NULL;
	for (end++; *end && *end != '"'; end++)
		end += *end == '\\' && end[1];
	*ret_len = (size_t)(end + 1 - begin);
	*at = end + 1;
	return begin;
}

static bool has_string(const char *array, const char *wanted, size_t wanted_len)
{
	const char *string;
	size_t len;

	while ((string = next_string(&array, &len)))
		if (len == wanted_len && memcmp(string, wanted, len) == 0)
			return true;
	return false;
}

/* Lists what of one array is not in the other. */
static void list_others(const char *array, const char *other, struct buf *ret)
{
	const char *string;
	size_t len;

	while ((string = next_string(&array, &len)))
		if (!has_string(other, string, len))
			buf_addf(ret, "%s'--%.*s'", ret->len ? ", " : "", (int)len - 2, string + 1);
}

int mount_compare(const struct mount *mount, const char *path, struct buf *ret_only_here,
		  struct buf *ret_only_there)
{
	static const char says[] = "\"options\": [";
	SCOPE(buf_release) struct buf shown = BUF_INIT, options = BUF_INIT;
	SCOPE_FREE char *stats = NULL;
	struct json json = json_begin(&shown), list = json_begin(&options);
	ssize_t len = mountpoint_stats(path, &stats);
	const char *there;

	/* What distinguishes the tree of one mount from another's, as in the stats. */
	json_object(&json, NULL);
	json_string(&json, "id", dataset_info(mount->dataset)->id);
	json_bytes(&json, "subdir", mount->folder.data, mount->folder.len);
	json_end(&json);
	json_array(&list, NULL);
	settings_given(mount->settings, report_option, &list);
	json_end(&list);
	if (buf_error(&shown) < 0 || buf_error(&options) < 0)
		return -ENOMEM;
	/* Compare without the braces: in a string, all quotes are escaped. */
	if (len <= 0 || !memmem(stats, (size_t)len, shown.data + 1, shown.len - 2))
		return 0;
	stats[len] = '\0';
	there = strstr(stats, says);
	if (there) {
		there += strlen(says);
		list_others(options.data + 1, there, ret_only_here);
		list_others(there, options.data + 1, ret_only_there);
	}
	return buf_error(ret_only_here) < 0 || buf_error(ret_only_there) < 0 ? -ENOMEM : 1;
}
