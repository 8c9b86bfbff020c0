#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/scope.h"
#include "fs/life/stats.h"
#include "fs/mount_internal.h"
#include <string.h>

static const char *const request_names[REQUEST_COUNT] = {
	[REQUEST_READ] = "read",
	[REQUEST_LOOKUP] = "lookup",
	[REQUEST_GETATTR] = "getattr",
	[REQUEST_READDIR] = "readdir",
	[REQUEST_READDIRPLUS] = "readdirplus",
	[REQUEST_OPEN] = "open",
	[REQUEST_IOCTL] = "ioctl",
	[REQUEST_GETXATTR] = "getxattr",
	[REQUEST_LISTXATTR] = "listxattr",
	[REQUEST_FORGET] = "forget",
	[REQUEST_NOTIFY] = "notify",
};

/* What distinguishes the tree of one mount from another's. The folder is for the owner. */
static void report_shown(struct json *json, const struct mount *mount, bool owner)
{
	json_string(json, "id", dataset_info(mount->dataset)->id);
	if (owner)
		json_bytes(json, "subdir", mount->folder.data, mount->folder.len);
}

static void report_option(void *context, const char *name, const char *value)
{
	char word[1024];

	snprintf(word, sizeof(word), value ? "%s=%s" : "%s", name, value);
	json_bytes(context, NULL, word, strlen(word));
}

static void report_options(struct json *json, const struct mount *mount)
{
	json_array(json, "options");
	settings_given(mount->settings, report_option, json);
	json_end(json);
}

static void report_pack(struct json *json, const struct mount *mount)
{
	const struct dataset_info *info = dataset_info(mount->dataset);

	json_object(json, "pack");
	json_bytes(json, "path", mount->label.path, strlen(mount->label.path));
	json_u64(json, "files", info->super->files);
	json_u64(json, "bytes", info->super->bytes);
	json_end(json);
}

static void report_requests(struct json *json, struct mount *mount)
{
	json_object(json, "requests");
	for (int i = 0; i < REQUEST_COUNT; i++)
		json_u64(json, request_names[i], mount->requests[i]);
	json_end(json);
}

static void report_cache(struct json *json, const struct cache_stats *s)
{
	json_u64(json, "served_bytes", s->served_bytes);
	json_object(json, "device");
	json_u64(json, "reads", s->device_reads);
	json_u64(json, "bytes", s->device_bytes);
	json_u64(json, "errors", s->device_errors);
	json_end(json);
	json_object(json, "pool");
	json_u64(json, "budget", s->budget);
	json_u64(json, "limit", s->limit);
	json_u64(json, "used", s->used);
	json_u64(json, "payload", s->payload);
	json_u64(json, "page_cache", s->resident);
	json_u64(json, "page_cache_limit", s->resident_limit);
	json_u64(json, "hits", s->hits);
	json_u64(json, "misses", s->misses);
	json_u64(json, "evictions", s->evictions);
	json_string(json, "policy", s->policy);
	json_end(json);
	json_object(json, "prefetch");
	json_u64(json, "issued", s->prefetch_issued);
	json_u64(json, "used", s->prefetch_used);
	json_u64(json, "wasted", s->prefetch_wasted);
	json_end(json);
	json_u64(json, "preloaded", s->preloaded);
	json_object(json, "wait");
	json_u64(json, "reads", s->wait_reads);
	json_u64(json, "total_us", s->wait_us);
	json_u64(json, "p50_us", s->wait_p50_us);
	json_u64(json, "p99_us", s->wait_p99_us);
	json_u64(json, "parked", s->parked);
	json_u64(json, "oldest_ms", s->oldest_wait_ms);
	json_u64(json, "given_up", s->given_up);
	json_end(json);
	/* Null until something has been served in full. */
	json_double(json, "amplification", (double)s->device_bytes / (double)s->distinct_bytes);
}

/* The list, which may be the path of a file, and the seed are for the owner. */
static void report_oracle(struct json *json, const struct cache_oracle *o, bool owner)
{
	json_object(json, "oracle");
	json_string(json, "state", o->state);
	json_string(json, "why", o->why);
	json_u64(json, "search_part", o->search_part);
	json_u64(json, "full_search_s", o->full_search_s);
	json_string(json, "sampler", o->sampler);
	if (owner) {
		json_string(json, "list", o->list);
		json_u64(json, "seed", o->seed);
	}
	json_u64(json, "epoch", o->epoch);
	json_u64(json, "position", o->position);
	json_u64(json, "files", o->files);
	json_u64(json, "searches", o->searches);
	json_double(json, "search_s", (double)o->search_ms / 1000);
	json_u64(json, "followed", o->followed);
	json_u64(json, "locks", o->locks);
	json_u64(json, "unlocks", o->unlocks);
	json_u64(json, "dropped", o->dropped);
	json_end(json);
}

/* For storage that is far: what requests cost there. */
static void report_far(struct json *json, const struct mount *mount, const struct cache_far *far)
{
	struct reader_stats stats;

	if (!reader_stats(reader_origin(dataset_reader(mount->dataset)), &stats))
		return;
	json_object(json, "far");
	json_u64(json, "requests", stats.requests);
	json_u64(json, "bytes", stats.bytes);
	json_u64(json, "retries", stats.retries);
	json_u64(json, "refused", stats.refused);
	json_u64(json, "under_way", stats.under_way);
	json_u64(json, "first_byte_p50_us", stats.first_byte_p50_us);
	json_u64(json, "first_byte_p99_us", stats.first_byte_p99_us);
	json_u64(json, "ahead", far->reads);
	json_u64(json, "ahead_most", far->most);
	json_u64(json, "ahead_bytes", far->read_bytes);
	json_u64(json, "ahead_us", far->read_us);
	json_bool(json, "full", far->full);
	json_end(json);
}

/* The sentence names a folder: it is for the owner. */
static void report_labels(struct json *json, const struct mount *mount, bool owner)
{
	json_object(json, "labels");
	json_u64(json, "known", mount->labels.labels);
	json_u64(json, "without_image", mount->labels.absent);
	json_u64(json, "with_another_number", mount->labels.moved);
	if (owner)
		json_bytes(json, "text", mount->labels_text.data, mount->labels_text.len);
	json_end(json);
}

static void report_line(void *context, const char *line)
{
	json_string(context, NULL, line);
}

int mount_report(struct mount *mount, bool owner, struct buf *buf)
{
	struct json json = json_begin(buf);
	struct cache_stats stats;

	cache_stats(mount->cache, &stats);
	json_object(&json, NULL);
	json_string(&json, "version", FOLDFS_VERSION);
	report_shown(&json, mount, owner);
	if (owner)
		report_options(&json, mount);
	json_u64(&json, "uptime_s", clock_ns() / CLOCK_SECOND - mount->started);
	report_pack(&json, mount);
	report_labels(&json, mount, owner);
	report_requests(&json, mount);
	json_u64(&json, "served_files", mount->served_files);
	report_cache(&json, &stats);
	if (mount->disk)
		disk_cache_report(mount->disk, &json);
	report_far(&json, mount, &stats.far);
	report_oracle(&json, &stats.oracle, owner);
	json_u64(&json, "bad_files", mount->bad_files);
	json_u64(&json, "damaged_files", mount->damaged_files);
	json_bool(&json, "changed", atomic_load(&mount->stale_logged));
	json_bool(&json, "leaving", atomic_load(&mount->leaving));
	json_string(&json, "cache_mode", mount_keeper(mount));
	json_string(&json, "io", stats.direct ? "direct" : "buffered");
	if (owner) {
		json_array(&json, "log");
		log_kept(report_line, &json);
		json_end(&json);
	}
	json_end(&json);
	return buf_error(buf);
}

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
static int list_others(const char *array, const char *other, struct buf *ret)
{
	const char *string;
	size_t len;
	int r = 0;

	while (r == 0 && (string = next_string(&array, &len)))
		if (!has_string(other, string, len))
			r = buf_addf(ret, "%s'--%.*s'", ret->len ? ", " : "", (int)len - 2,
				     string + 1);
	return r;
}

int mount_differs(const struct mount *mount, const char *path, struct buf *ret_only_here,
		  struct buf *ret_only_there)
{
	static const char says[] = "\"options\": [";
	SCOPE(buf_release) struct buf here = BUF_INIT;
	SCOPE_FREE char *stats = NULL;
	struct json json = json_begin(&here);
	ssize_t len = stats_read(path, &stats);
	const char *there;
	int r;

	if (len < 0)
		return 0;
	stats[len] = '\0';
	there = strstr(stats, says);
	json_object(&json, NULL);
	report_options(&json, mount);
	json_end(&json);
	r = buf_error(&here);
	if (r < 0 || !there)
		return r;
	there += strlen(says);
	r = list_others(strstr(here.data, says) + strlen(says), there, ret_only_here);
	return r < 0 ? r
		     : list_others(there, strstr(here.data, says) + strlen(says), ret_only_there);
}

bool mount_is_at(const struct mount *mount, const char *path)
{
	struct buf shown SCOPE(buf_release) = BUF_INIT;
	SCOPE_FREE char *stats = NULL;
	struct json json = json_begin(&shown);
	ssize_t len;

	json_object(&json, NULL);
	report_shown(&json, mount, true);
	json_end(&json);
	if (buf_error(&shown) < 0)
		return false;
	len = stats_read(path, &stats);
	/* Compare without the braces: in a string, all quotes are escaped. */
	return len > 0 && memmem(stats, (size_t)len, shown.data + 1, shown.len - 2);
}
