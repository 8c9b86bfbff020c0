#include "fs/stat/exposition.h"
#include "base/utf8.h"
#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#define MICRO 1e-6
#define MILLI 1e-3

struct metric {
	const char *name, *type, *help;
	const char *member; /* an integer, a flag or a real */
	double unit;	    /* in seconds; 0: it counts */
};

static const struct metric metrics[] = {
	{"foldfs_uptime_seconds", "gauge", "Age of the mount.", "/uptime_s", 0},
	{"foldfs_pack_files", "gauge", "Files in the pack.", "/pack/files", 0},
	{"foldfs_pack_bytes", "gauge", "Bytes of all files in the pack.", "/pack/bytes", 0},
	{"foldfs_served_bytes_total", "counter", "Bytes given to the kernel.", "/served_bytes", 0},
	{"foldfs_device_reads_total", "counter", "Reads of the pack.", "/device/reads", 0},
	{"foldfs_device_read_bytes_total", "counter", "Bytes read of the pack.", "/device/bytes",
	 0},
	{"foldfs_device_errors_total", "counter", "Reads of the pack that failed.",
	 "/device/errors", 0},
	{"foldfs_pool_budget_bytes", "gauge", "Memory that the pool was given.", "/pool/budget", 0},
	{"foldfs_pool_limit_bytes", "gauge", "Memory that the pool may use at present.",
	 "/pool/limit", 0},
	{"foldfs_pool_used_bytes", "gauge", "Memory that the pool uses.", "/pool/used", 0},
	{"foldfs_pool_hits_total", "counter", "Reads that found their data in the pool.",
	 "/pool/hits", 0},
	{"foldfs_pool_misses_total", "counter", "Reads that did not.", "/pool/misses", 0},
	{"foldfs_pool_evictions_total", "counter", "What left the pool to make room.",
	 "/pool/evictions", 0},
	{"foldfs_page_cache_bytes", "gauge", "What the kernel keeps as its share.",
	 "/pool/page_cache", 0},
	{"foldfs_page_cache_limit_bytes", "gauge", "The most that it may keep.",
	 "/pool/page_cache_limit", 0},
	{"foldfs_readahead_issued_bytes_total", "counter", "Bytes read ahead of readers.",
	 "/prefetch/issued", 0},
	{"foldfs_readahead_used_bytes_total", "counter", "Of them, those that a reader asked for.",
	 "/prefetch/used", 0},
	{"foldfs_readahead_wasted_bytes_total", "counter", "Of them, those that left unused.",
	 "/prefetch/wasted", 0},
	{"foldfs_preloaded_bytes", "gauge", "How far a preload has got.", "/preloaded", 0},
	{"foldfs_reads_waiting", "gauge", "Reads that wait for storage now.", "/wait/parked", 0},
	{"foldfs_oldest_wait_seconds", "gauge", "How long the first of them has waited.",
	 "/wait/oldest_ms", MILLI},
	{"foldfs_reads_given_up_total", "counter", "Reads given up because of --io-timeout.",
	 "/wait/given_up", 0},
	{"foldfs_epoch", "gauge", "Epoch of the order that is followed.", "/oracle/epoch", 0},
	{"foldfs_epoch_files", "gauge", "Files of that epoch.", "/oracle/files", 0},
	{"foldfs_epoch_position", "gauge", "Files of it that were read.", "/oracle/position", 0},
	{"foldfs_orders_followed", "gauge", "Orders that are known, and followed.",
	 "/oracle/followed", 0},
	{"foldfs_bad_files", "gauge", "Files that could not be read.", "/bad_files", 0},
	{"foldfs_pack_changed", "gauge", "1 if the pack was written to while it was mounted.",
	 "/changed", 0},
	{"foldfs_server_requests_total", "counter", "Requests to the server.", "/far/requests", 0},
	{"foldfs_server_bytes_total", "counter", "Bytes that came from the server.", "/far/bytes",
	 0},
	{"foldfs_server_retries_total", "counter", "Requests that were repeated.", "/far/retries",
	 0},
	{"foldfs_server_refused_total", "counter",
	 "Requests that the server refused because it was overloaded.", "/far/refused", 0},
	{"foldfs_server_requests", "gauge", "Requests to the server under way.", "/far/under_way",
	 0},
	{"foldfs_disk_cache_bytes", "gauge", "What the copy on the disk has.", "/disk_cache/cached",
	 0},
	{"foldfs_disk_cache_size_bytes", "gauge", "What a complete copy takes.", "/disk_cache/size",
	 0},
	{"foldfs_disk_cache_near_bytes_total", "counter", "Bytes read from the copy.",
	 "/disk_cache/near_bytes", 0},
	{"foldfs_disk_cache_far_bytes_total", "counter", "Bytes that the copy did not have.",
	 "/disk_cache/far_bytes", 0},
};

/* --- labels -------------------------------------------------------------------------------- */

/* A value as the format has it. Bytes that are no text become \ooo. */
static int add_value(struct buf *buf, const char *value)
{
	size_t left = strlen(value), len;
	uint32_t code;
	int r = 0;

	for (; left && r == 0; value += len, left -= len) {
		len = utf8_decode(value, left, &code);
		if (len == 0 || code < 0x20 || code == 0x7f)
			r = buf_addf(buf, "\\\\%03o", (unsigned char)*value);
		else if (code == '\\' || code == '"')
			r = buf_addf(buf, "\\%c", (char)code);
		else
			r = buf_add(buf, value, len);
		len = len ? len : 1;
	}
	return r;
}

static int add_label(struct buf *buf, const char *before, const char *name, const char *value)
{
	int r = buf_addf(buf, "%s%s=\"", before, name);

	if (r == 0)
		r = add_value(buf, value);
	return r < 0 ? r : buf_adds(buf, "\"");
}

/* Up to the brace that ends the labels: the mount, and a second one unless it is NULL. */
static int begin_sample(struct buf *buf, const char *name, const struct exposed_mount *mount,
			const char *label, const char *value)
{
	int r = buf_adds(buf, name);

	if (r == 0)
		r = add_label(buf, "{", "mount", mount->path);
	return r < 0 || !label ? r : add_label(buf, ",", label, value);
}

static int add_count(struct buf *buf, const char *name, const struct exposed_mount *mount,
		     const char *label, const char *value, uint64_t count)
{
	int r = begin_sample(buf, name, mount, label, value);

	return r < 0 ? r : buf_addf(buf, "} %" PRIu64 "\n", count);
}

static int add_seconds(struct buf *buf, const char *name, const struct exposed_mount *mount,
		       const char *label, const char *value, double seconds)
{
	int r = begin_sample(buf, name, mount, label, value);

	return r < 0 ? r : buf_addf(buf, "} %.6f\n", seconds);
}

static int add_heading(struct buf *buf, const char *name, const char *type, const char *help)
{
	return buf_addf(buf, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* --- metrics ------------------------------------------------------------------------------- */

static bool has_member(const struct exposed_mount *mount, const char *member)
{
	return snapshot_member(&mount->now, member, json_type_int) ||
	       snapshot_member(&mount->now, member, json_type_boolean);
}

static int add_sample_of(struct buf *buf, const struct metric *metric,
			 const struct exposed_mount *mount)
{
	uint64_t count = snapshot_count(&mount->now, metric->member);

	if (metric->unit > 0)
		return add_seconds(buf, metric->name, mount, NULL, NULL,
				   (double)count * metric->unit);
	return add_count(buf, metric->name, mount, NULL, NULL,
			 count + snapshot_flag(&mount->now, metric->member));
}

static int add_metric(struct buf *buf, const struct metric *metric,
		      const struct exposed_mount *mounts, size_t count)
{
	bool headed = false;
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		if (!has_member(&mounts[i], metric->member))
			continue;
		if (!headed)
			r = add_heading(buf, metric->name, metric->type, metric->help);
		headed = true;
		if (r == 0)
			r = add_sample_of(buf, metric, &mounts[i]);
	}
	return r;
}

static int add_up(struct buf *buf, const struct exposed_mount *mounts, size_t count)
{
	int r = add_heading(buf, "foldfs_up", "gauge", "1 if the mount has answered.");

	for (size_t i = 0; i < count && r == 0; i++)
		r = add_count(buf, "foldfs_up", &mounts[i], NULL, NULL,
			      mounts[i].now.stats != NULL);
	return r;
}

/* What is text in the stats. */
static int add_info(struct buf *buf, const struct exposed_mount *mounts, size_t count)
{
	static const struct {
		const char *label, *member;
	} texts[] = {
		{"pack", "/pack/path"},	    {"id", "/id"}, {"version", "/version"},
		{"cache", "/cache_mode"},   {"io", "/io"}, {"order", "/oracle/state"},
		{"policy", "/pool/policy"},
	};
	int r = add_heading(buf, "foldfs_mount_info", "gauge", "Always 1; the labels tell.");

	for (size_t i = 0; i < count && r == 0; i++) {
		if (!mounts[i].now.stats)
			continue;
		r = begin_sample(buf, "foldfs_mount_info", &mounts[i], NULL, NULL);
		for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]) && r == 0; j++)
			r = add_label(buf, ",", texts[j].label,
				      snapshot_text(&mounts[i].now, texts[j].member));
		if (r == 0)
			r = buf_adds(buf, "} 1\n");
	}
	return r;
}

static int add_requests(struct buf *buf, const struct exposed_mount *mounts, size_t count)
{
	const char *name = "foldfs_requests_total";
	int r = add_heading(buf, name, "counter", "Requests of the kernel.");

	for (size_t i = 0; i < count; i++) {
		struct json_object *requests =
			snapshot_member(&mounts[i].now, "/requests", json_type_object);

		if (!requests)
			continue;
		json_object_object_foreach(requests, operation, sent)
		{
			if (r == 0)
				r = add_count(buf, name, &mounts[i], "operation", operation,
					      snapshot_number(sent));
		}
	}
	return r;
}

static int add_wait(struct buf *buf, const struct exposed_mount *mount)
{
	static const struct {
		const char *name, *label, *value, *member;
	} times[] = {
		{"foldfs_wait_seconds", "quantile", "0.5", "/wait/p50_us"},
		{"foldfs_wait_seconds", "quantile", "0.99", "/wait/p99_us"},
		{"foldfs_wait_seconds_sum", NULL, NULL, "/wait/total_us"},
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]) && r == 0; i++)
		r = add_seconds(buf, times[i].name, mount, times[i].label, times[i].value,
				MICRO * (double)snapshot_count(&mount->now, times[i].member));
	if (r < 0)
		return r;
	return add_count(buf, "foldfs_wait_seconds_count", mount, NULL, NULL,
			 snapshot_count(&mount->now, "/wait/reads"));
}

static int add_waits(struct buf *buf, const struct exposed_mount *mounts, size_t count)
{
	int r = add_heading(buf, "foldfs_wait_seconds", "summary",
			    "Time that reads waited for storage, since the mount was made.");

	for (size_t i = 0; i < count && r == 0; i++)
		if (mounts[i].now.stats)
			r = add_wait(buf, &mounts[i]);
	return r;
}

int exposition_add(const struct exposed_mount *mounts, size_t count, struct buf *buf)
{
	int r = add_up(buf, mounts, count);

	if (r == 0)
		r = add_info(buf, mounts, count);
	if (r == 0)
		r = add_requests(buf, mounts, count);
	if (r == 0)
		r = add_waits(buf, mounts, count);
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]) && r == 0; i++)
		r = add_metric(buf, &metrics[i], mounts, count);
	return r;
}
