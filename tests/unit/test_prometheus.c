/* The text format of Prometheus: fs/stat/prometheus.h. */
#include "base/scope.h"
#include "fs/stat/prometheus.h"
#include "tests/unit/test.h"
#include <stdbool.h>
#include <string.h>

static struct exposed_mount mount_of(const char *path, const char *json)
{
	struct exposed_mount mount = {.path = path};

	assert_int_equal(snapshot_parse(json, strlen(json), 0, &mount.now, NULL), 0);
	return mount;
}

TEST(test_a_metric_has_its_heading_once_and_a_sample_for_each_mount)
{
	struct exposed_mount mounts[] = {
		mount_of("/mnt/a",
			 "{'served_bytes': 9223372036854775807, 'changed': true,"
			 " 'requests': {'lookup': 3, 'open': 2},"
			 " 'wait': {'p50_us': 100, 'oldest_ms': 1500, 'total_us': 2500000}}"),
		mount_of("/mnt/b", "{'served_bytes': 7, 'far': {'requests': 3}}"),
		{.path = "/mnt/c"},
	};
	static const char *const texts[] = {
		"foldfs_up{mount=\"/mnt/b\"} 1\nfoldfs_up{mount=\"/mnt/c\"} 0\n",
		"# HELP foldfs_served_bytes_total Bytes given to the kernel.\n"
		"# TYPE foldfs_served_bytes_total counter\n"
		"foldfs_served_bytes_total{mount=\"/mnt/a\"} 9223372036854775807\n"
		"foldfs_served_bytes_total{mount=\"/mnt/b\"} 7\n#",
		"foldfs_oldest_wait_seconds{mount=\"/mnt/a\"} 1.500000\n#",
		"# TYPE foldfs_wait_seconds summary\n"
		"foldfs_wait_seconds{mount=\"/mnt/a\",quantile=\"0.5\"} 0.000100\n"
		"foldfs_wait_seconds_sum{mount=\"/mnt/a\"} 2.500000\n#",
		"# TYPE foldfs_requests_total counter\n"
		"foldfs_requests_total{mount=\"/mnt/a\",operation=\"lookup\"} 3\n"
		"foldfs_requests_total{mount=\"/mnt/a\",operation=\"open\"} 2\n#",
		"foldfs_pack_changed{mount=\"/mnt/a\"} 1\n",
		"counter\nfoldfs_server_requests_total{mount=\"/mnt/b\"} 3\n",
	};
	SCOPE(buf_release) struct buf text = BUF_INIT;

	assert_int_equal(prometheus_add(mounts, 3, &text), 0);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strstr(text.data, texts[i]))
			fail_msg("no %s in\n%s", texts[i], text.data);
	assert_null(strstr(text.data, "disk_cache")); /* of what nobody has, there is nothing */
	for (size_t i = 0; i < 3; i++)
		snapshot_release(&mounts[i].now);
}

TEST(test_labels_are_escaped)
{
	struct exposed_mount mount =
		mount_of("/m/\"q\"\\\n\x1b\xff\xc3\xa9", "{'pack': {'path': '/p\\u001b\\n'}}");
	SCOPE(buf_release) struct buf text = BUF_INIT;

	assert_int_equal(prometheus_add(&mount, 1, &text), 0);
	assert_non_null(
		strstr(text.data,
		       "foldfs_up{mount=\"/m/\\\"q\\\"\\\\\\\\012\\\\033\\\\377\xc3\xa9\"} 1\n"));
	assert_non_null(strstr(text.data, ",pack=\"/p\\\\033\\\\012\","));
	snapshot_release(&mount.now);
}

TEST(test_without_mounts_there_are_no_samples)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;

	assert_int_equal(prometheus_add(NULL, 0, &text), 0);
	assert_null(strchr(text.data, '{'));
}
