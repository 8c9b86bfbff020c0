/* What foldstat makes of a mount's stats: fs/stat/snapshot.h, verdict.h, mounts.h. */
#include "base/mountinfo.h"
#include "base/scope.h"
#include "base/size.h"
#include "fs/stat/mounts.h"
#include "fs/stat/verdict.h"
#include "tests/unit/test.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

/* --- snapshots -------------------------------------------------------------------------- */

/* A snapshot of stats that are written with single quotes. */
__attribute__((format(printf, 2, 3))) static struct snapshot snapshot_of(double at,
									 const char *format, ...)
{
	SCOPE_FREE char *json = NULL;
	struct snapshot s = {0};
	va_list args;

	va_start(args, format);
	assert_true(vasprintf(&json, format, args) > 0);
	va_end(args);
	assert_int_equal(snapshot_parse(json, strlen(json), at, &s, NULL), 0);
	return s;
}

TEST(test_members_are_found_by_their_pointers)
{
	SCOPE(snapshot_release)
	struct snapshot s = snapshot_of(4.5,
					"{'id': 'b4cb92ba', 'uptime_s': 60, 'changed': true,"
					" 'pack': {'bytes': 149000000000},"
					" 'wait': {'total_us': 9223372036854775807, 'count': -1},"
					" 'amplification': 1.5, 'log': ['one', 'two']}");
	struct json_object *log = snapshot_member(&s, "/log", json_type_array);

	assert_true(s.at == 4.5);
	assert_int_equal(snapshot_count(&s, "/uptime_s"), 60);
	assert_int_equal(snapshot_count(&s, "/pack/bytes"), 149000000000);
	assert_true(snapshot_count(&s, "/wait/total_us") == INT64_MAX);
	assert_int_equal(snapshot_count(&s, "/wait/count"), 0);
	assert_true(snapshot_real(&s, "/amplification") == 1.5);
	assert_true(snapshot_real(&s, "/uptime_s") == 60);
	assert_string_equal(snapshot_text(&s, "/id"), "b4cb92ba");
	assert_true(snapshot_says(&s, "/id", "b4cb92ba"));
	assert_true(snapshot_flag(&s, "/changed"));
	assert_string_equal(json_object_get_string(json_object_array_get_idx(log, 1)), "two");
}

/* Of a mount that is of an older release, or a newer one. */
TEST(test_what_is_missing_counts_as_none)
{
	SCOPE(snapshot_release)
	struct snapshot s = snapshot_of(7, "{'pool': 3, 'id': null, 'reads': '12', 'bytes': 1.5}");
	static const char *const members[] = {"/pool/hits", "/none",  "/id",
					      "/reads",	    "/bytes", "/id/none"};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		assert_int_equal(snapshot_count(&s, members[i]), 0);
		assert_false(snapshot_flag(&s, members[i]));
		assert_null(snapshot_member(&s, members[i], json_type_array));
	}
	assert_string_equal(snapshot_text(&s, "/id"), "");
	assert_true(snapshot_real(&s, "/id") == 0);
}

TEST(test_what_is_no_object_is_refused)
{
	static const char whole[] = "{\"pack\": {\"path\": \"/p\", \"files\": 1}, \"log\": []}";
	static const char *const texts[] = {"", "7", "[1]", "null", "{", "{\"version\"", "\xff"};
	struct snapshot s;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct err err = {0};

		assert_int_equal(snapshot_parse(texts[i], strlen(texts[i]), 0, &s, &err), -EPROTO);
		assert_string_equal(err.text, "its stats are not a JSON object");
	}
	for (size_t len = 0; len < strlen(whole); len++)
		assert_int_equal(snapshot_parse(whole, len, 0, &s, NULL), -EPROTO);
}

TEST(test_a_text_cannot_command_the_terminal)
{
	SCOPE(snapshot_release)
	struct snapshot s = snapshot_of(0,
					"{'log': ['a\\nb\\u001b[31m\\u007f\\u009b\\u00a0\\n\\n',"
					" {'\\u001b[31m': 1}]}");

	assert_string_equal(snapshot_text(&s, "/log/0"),
			    "a\\012b\\033[31m\\177\\302\\233\xc2\xa0\\012\\012");
	assert_string_equal(snapshot_element(snapshot_member(&s, "/log", json_type_array), 1), "");
}

TEST(test_the_origin_is_when_all_was_zero)
{
	SCOPE(snapshot_release)
	struct snapshot now = snapshot_of(100, "{'uptime_s': 60, 'requests': {'read': 5}}");
	SCOPE(snapshot_release) struct snapshot young = snapshot_of(100, "{'uptime_s': 0}");
	struct snapshot origin = snapshot_origin(&now);

	assert_true(origin.at == 40);
	assert_int_equal(snapshot_grown(&origin, &now, "/requests/read"), 5);
	assert_true(snapshot_origin(&young).at == 99);
}

TEST(test_a_pool_is_shrunk_when_it_may_not_use_its_budget)
{
	SCOPE(snapshot_release)
	struct snapshot whole_pool = snapshot_of(0, "{'pool': {'budget': 64, 'limit': 64}}");
	SCOPE(snapshot_release)
	struct snapshot shrunk = snapshot_of(0, "{'pool': {'budget': 64, 'limit': 63}}");
	SCOPE(snapshot_release)
	struct snapshot unknown = snapshot_of(0, "{'pool': {'budget': 64}}");

	assert_false(snapshot_is_shrunk(&unknown));
	assert_false(snapshot_is_shrunk(&whole_pool));
	assert_true(snapshot_is_shrunk(&shrunk));
}

TEST(test_a_preload_is_at_100_per_cent_when_it_is_done)
{
	static const struct {
		uint64_t done, all;
		unsigned percent;
	} cases[] = {
		{1, 1000, 0},	   {9, 20, 45},
		{999, 1000, 99},   {149000000000 - 1, 149000000000, 99},
		{1000, 1000, 100}, {1, 0, 100},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		SCOPE(snapshot_release)
		struct snapshot s = snapshot_of(0, "{'preloaded': %lu, 'pack': {'bytes': %lu}}",
						cases[i].done, cases[i].all);

		assert_int_equal(snapshot_preloaded(&s), cases[i].percent);
	}
}

/* It leaves an eighth of what the pool may use now, and does not fill it up with short reads. */
TEST(test_a_preload_waits_where_the_pool_is_full)
{
	static const struct {
		unsigned done, limit, used; /* MiB, of 200 */
		bool waits;
	} cases[] = {{50, 128, 100, false},
		     {50, 128, 110, true},
		     {50, 64, 60, true},
		     {200, 64, 60, false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		SCOPE(snapshot_release)
		struct snapshot s = snapshot_of(0,
						"{'preloaded': %lu, 'pack': {'bytes': %lu},"
						" 'pool': {'limit': %lu, 'used': %lu}}",
						cases[i].done * MIB, 200 * MIB,
						cases[i].limit * MIB, cases[i].used * MIB);

		assert_int_equal(snapshot_preload_waits(&s), cases[i].waits);
	}
}

/* --- verdicts --------------------------------------------------------------------------- */

/* Ten seconds of a mount that was read before. */
struct interval {
	uint64_t reads, waited_us, device_bytes, ioctls, bad_files;
};

static struct snapshot stats_at(double at, const struct interval *since)
{
	return snapshot_of(at,
			   "{'requests': {'read': %lu, 'ioctl': %lu}, 'wait': {'total_us': %lu},"
			   " 'device': {'bytes': %lu}, 'bad_files': %lu}",
			   1000 + since->reads, since->ioctls, 123456 + since->waited_us,
			   since->device_bytes, 3 + since->bad_files);
}

static struct verdict judge(const struct interval *in)
{
	SCOPE(snapshot_release) struct snapshot before = stats_at(5, &(struct interval){0});
	SCOPE(snapshot_release) struct snapshot after = stats_at(15, in);

	return verdict_of(&before, &after);
}

static void assert_said(const struct verdict *verdict, const char *word, const char *text)
{
	SCOPE(buf_release) struct buf buf = BUF_INIT;

	assert_string_equal(verdict_word(verdict), word);
	assert_true(strlen(verdict_word(verdict)) <= 17);
	assert_int_equal(verdict_text(verdict, "/p.lmdb", &buf), 0);
	assert_string_equal(buf.data, text);
}

TEST(test_verdicts_follow_the_share_of_waiting)
{
	static const struct {
		struct interval interval;
		const char *word, *text;
	} cases[] = {
		{{.reads = 9},
		 "not the storage",
		 "readers never waited: storage is not the limit\n"},
		{{.reads = 9, .waited_us = 9000},
		 "not the storage",
		 "readers waited less than 0.1 % of the time: storage is not the limit\n"},
		{{.reads = 9, .waited_us = 40000},
		 "not the storage",
		 "readers waited 0.4 % of the time: storage is not the limit\n"},
		{{.reads = 9, .waited_us = 499999},
		 "not the storage",
		 "readers waited 5.0 % of the time: storage is not the limit\n"},
		{{.reads = 9, .waited_us = 500000, .device_bytes = 412000000},
		 "storage slows",
		 "readers waited 5.0 % of the time: storage slows them, 41.2 MB/s from the "
		 "device\n"},
		{{.reads = 9, .waited_us = 7990000, .device_bytes = 412000000},
		 "storage slows",
		 "readers waited 80 % of the time: storage slows them, 41.2 MB/s from the "
		 "device\n"},
		{{.reads = 9, .waited_us = 9300000, .device_bytes = 1780000000},
		 "disk is the limit",
		 "the disk is the limit: 178 MB/s from the device, readers waited 93 % of the "
		 "time\n"},
		{{.reads = 9, .waited_us = 37200000, .device_bytes = 1780000000},
		 "disk is the limit",
		 "the disk is the limit: 178 MB/s from the device, 3.7 reads waiting at any "
		 "time\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct verdict verdict = judge(&cases[i].interval);

		assert_said(&verdict, cases[i].word, cases[i].text);
	}
}

TEST(test_of_a_server_it_says_what_limits)
{
	static const struct {
		unsigned refused, ahead;
		const char *order, *full, *word, *text;
	} cases[] = {
		{0, 30, "none", "true", "network limits",
		 "the network is the limit: 0.0 MB/s from the server, readers waited 90 % of the "
		 "time\n"
		 "their order was not recognised: 'foldstat --order' can give it\n"},
		{0, 8, "watching", "true", "latency limits",
		 "the server's latency is the limit: 0.0 MB/s from the server, readers waited 90 % "
		 "of the time\n"},
		{0, 8, "locked", "true", "memory limits",
		 "memory is the limit: 0.0 MB/s from the server, readers waited 90 % of the time\n"
		 "their order is known: more memory ('--pool') helps\n"},
		{0, 8, "locked", "false", "latency limits",
		 "the server's latency is the limit: 0.0 MB/s from the server, readers waited 90 % "
		 "of the time\n"
		 "their order is known, and read ahead as fast as it comes\n"},
		{3, 30, "off", "false", "server overloaded",
		 "the server is overloaded: 0.0 MB/s from the server, readers waited 90 % of the "
		 "time\n"},
	};
	static const char stats[] =
		"{'requests': {'read': 9}, 'oracle': {'state': '%s'}, 'wait': {'total_us': "
		"9000000},"
		" 'far': {'requests': 7, 'refused': %u, 'ahead': %u, 'ahead_most': 32,"
		" 'full': %s}}";
	struct snapshot before = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		SCOPE(snapshot_release)
		struct snapshot after = snapshot_of(10, stats, cases[i].order, cases[i].refused,
						    cases[i].ahead, cases[i].full);
		struct verdict verdict = verdict_of(&before, &after);

		assert_said(&verdict, cases[i].word, cases[i].text);
	}
}

/* The server was asked for what opens the pack. */
TEST(test_of_a_copy_on_the_disk_the_disk_limits)
{
	static const char stats[] =
		"{'requests': {'read': 9}, 'wait': {'total_us': 9000000}, 'far': {'requests': 7},"
		" 'disk_cache': {'near_bytes': %d, 'far_bytes': 100}}";
	SCOPE(snapshot_release) struct snapshot copied = snapshot_of(10, stats, 101);
	SCOPE(snapshot_release) struct snapshot far = snapshot_of(10, stats, 99);
	struct snapshot before = {0};
	struct verdict of_copied = verdict_of(&before, &copied), of_far = verdict_of(&before, &far);

	assert_int_equal(of_copied.limit, LIMIT_DISK);
	assert_int_not_equal(of_far.limit, LIMIT_DISK);
}

TEST(test_nothing_read_is_told_from_nothing_read_here)
{
	SCOPE(snapshot_release)
	struct snapshot fresh = snapshot_of(10, "{'requests': {'lookup': 7}}");
	struct snapshot start = {0};
	struct verdict nothing = verdict_of(&start, &fresh);
	struct verdict silent = judge(&(struct interval){0});
	struct verdict kernel = judge(&(struct interval){.ioctls = 12});

	assert_said(&nothing, "nothing read yet", "nothing was read yet\n");
	assert_said(&silent, "cached, or idle",
		    "nothing is read, or the kernel's cache has it all\n");
	assert_said(&kernel, "kernel's cache",
		    "from the kernel's cache: all; storage is not the limit\n");
}

/* A file that goes to the kernel as it is opened is not read by a request. */
TEST(test_what_is_pushed_is_no_silence_and_not_cached)
{
	static const char stats[] =
		"{'requests': {'read': 0, 'ioctl': %d}, 'served_bytes': %d, 'wait': {}}";
	SCOPE(snapshot_release) struct snapshot first = snapshot_of(5, stats, 3, 3000);
	SCOPE(snapshot_release) struct snapshot later = snapshot_of(15, stats, 9, 9000);
	struct snapshot start = {0};
	struct verdict verdict = verdict_of(&start, &first);

	assert_int_equal(verdict.kind, VERDICT_FREE);
	verdict = verdict_of(&first, &later);
	assert_int_equal(verdict.kind, VERDICT_FREE);
}

TEST(test_storage_that_does_not_answer_is_no_silence)
{
	static const char stats[] =
		"{'requests': {'read': 4}, 'wait': {'parked': 3, 'oldest_ms': %d}}";
	SCOPE(snapshot_release) struct snapshot hangs = snapshot_of(15, stats, 12345);
	SCOPE(snapshot_release) struct snapshot goes_on = snapshot_of(15, stats, 100);
	struct snapshot before = {.at = 5};
	struct verdict verdict = verdict_of(&before, &hangs);

	assert_said(&verdict, "storage hangs",
		    "storage does not answer: 3 reads waiting, the first for 12 s\n");
	verdict = verdict_of(&before, &goes_on);
	assert_int_equal(verdict.kind, VERDICT_FREE);
}

TEST(test_a_pack_that_was_written_to_is_named_alone)
{
	struct verdict verdict = judge(&(struct interval){.bad_files = 7});

	verdict.changed = true;
	assert_said(&verdict, "pack has changed",
		    "the pack was written to while mounted: reads fail until\n"
		    "'/p.lmdb' is mounted again\n"
		    "nothing is read, or the kernel's cache has it all\n");
}

TEST(test_a_wait_that_ends_late_still_counts)
{
	struct verdict verdict = judge(&(struct interval){.waited_us = 12000000});

	assert_int_equal(verdict.kind, VERDICT_LIMIT);
}

TEST(test_bad_files_come_first_and_once)
{
	struct verdict one = judge(&(struct interval){.reads = 1, .bad_files = 1});
	struct verdict two = judge(&(struct interval){.reads = 2, .bad_files = 2});
	struct verdict old = judge(&(struct interval){.reads = 2});

	assert_said(&one, "unreadable files",
		    "1 file could not be read: 'foldpack verify /p.lmdb' lists all\n"
		    "readers never waited: storage is not the limit\n");
	assert_said(&two, "unreadable files",
		    "2 files could not be read: 'foldpack verify /p.lmdb' lists all\n"
		    "readers never waited: storage is not the limit\n");
	assert_int_equal(old.bad_files, 0);
}

TEST(test_to_readers_that_wait_it_says_what_is_known_of_their_order)
{
	static const struct {
		const char *state, *line;
	} cases[] = {
		{"off", ""},
		{"watching", ""},
		{"searching", "their order is still being searched for\n"},
		{"locked", "their order is known, and read ahead as fast as the device can\n"},
		{"none", "their order was not recognised: 'foldstat --order' can give it\n"},
	};
	static const char limit[] =
		"the disk is the limit: 0.0 MB/s from the device, readers "
		"waited 90 % of the time\n";
	static const char stats[] =
		"{'requests': {'read': 9}, 'oracle': {'state': '%s'},"
		" 'wait': {'total_us': %d}}";
	struct snapshot before = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		SCOPE(snapshot_release)
		struct snapshot waited = snapshot_of(10, stats, cases[i].state, 9000000);
		SCOPE(snapshot_release)
		struct snapshot served = snapshot_of(10, stats, cases[i].state, 0);
		SCOPE(buf_release) struct buf text = BUF_INIT;
		struct verdict verdict = verdict_of(&before, &waited);

		assert_int_equal(buf_addf(&text, "%s%s", limit, cases[i].line), 0);
		assert_said(&verdict, "disk is the limit", text.data);
		verdict = verdict_of(&before, &served);
		assert_said(&verdict, "not the storage",
			    "readers never waited: storage is not the limit\n");
	}
}

TEST(test_no_time_is_no_division_by_zero)
{
	SCOPE(snapshot_release)
	struct snapshot same = snapshot_of(5, "{'requests': {'read': 1}}");
	struct verdict verdict = verdict_of(&same, &same);

	assert_int_equal(verdict.kind, VERDICT_SILENT);
	assert_true(verdict.waiting == 0 && verdict.device_rate == 0);
}

/* --- the order -------------------------------------------------------------------------- */

/* What is said of the "oracle" of the stats. */
static void assert_order(const char *oracle, const char *expected)
{
	SCOPE(snapshot_release) struct snapshot s = snapshot_of(0, "{'oracle': {%s}}", oracle);
	SCOPE(buf_release) struct buf buf = BUF_INIT;

	assert_int_equal(verdict_order_text(&s, &buf), 0);
	assert_string_equal(buf.len ? buf.data : "", expected);
}

#define DISTRIBUTED                                           \
	"'state': 'locked', 'sampler': 'DistributedSampler'," \
	" 'list': 'train as ImageFolder', 'epoch': 3, 'position': 12400, 'files': 1281167,"

TEST(test_an_order_is_told_in_words)
{
	assert_order(DISTRIBUTED "'search_s': 0.4",
		     "DistributedSampler over train as ImageFolder; epoch 3: 12,400 of 1,281,167 "
		     "files read; its seed 0 was found in 0.4 s");
	assert_order(DISTRIBUTED "'search_s': 21.34, 'seed': 4294967295",
		     "DistributedSampler over train as ImageFolder; epoch 3: 12,400 of 1,281,167 "
		     "files read; its seed 4294967295 was found in 21 s");
	assert_order(DISTRIBUTED "'search_s': 0, 'seed': 4294967295",
		     "DistributedSampler over train as ImageFolder; epoch 3: 12,400 of 1,281,167 "
		     "files read; its seed 4294967295");
}

TEST(test_an_order_that_was_given_has_no_seed_and_was_not_searched_for)
{
	assert_order("'state': 'locked', 'sampler': 'given', 'search_s': 21, 'seed': 7, 'files': 3",
		     "given; epoch 0: 0 of 3 files read");
}

TEST(test_without_an_order_it_says_what_is_done_about_it)
{
	assert_order("'state': 'off', 'sampler': 'of before', 'search_s': 1", "");
	assert_order("'state': 'watching', 'sampler': 'of before'", "not known yet");
	assert_order("'state': 'searching', 'search_part': 40",
		     "searching: 40 % of all seeds were tried");
	assert_order("'state': 'none', 'sampler': 'of before'", "not recognised");
	assert_order("'state': 'none', 'dropped': 3",
		     "not recognised; 3 reads came too fast to be looked at");
}

TEST(test_without_an_order_it_says_why)
{
	static const struct {
		const char *why, *said;
	} cases[] = {
		{"idle", "nothing was read yet"},
		{"too few files read", "not known yet: who reads now has read too few files"},
		{"path order", "one file after the other, by name: there is nothing to find"},
		{"search would not pay",
		 "not recognised; not needed: everything came in time (a search of all seeds would "
		 "take 107 s of a processor)"},
		{"list too short",
		 "not recognised: no usual seed fits, and a search of all would take longer than "
		 "the epoch"},
		{"not a known order",
		 "not recognised: no shuffle that foldfs knows; all is read ahead in one pass"},
		{"of a newer release", "not known yet"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		SCOPE_FREE char *oracle = NULL;

		assert_true(asprintf(&oracle,
				     "'state': 'watching', 'full_search_s': 107,"
				     " 'why': '%s'",
				     cases[i].why) > 0);
		assert_order(oracle, cases[i].said);
	}
}

/* All that it can be: disk_cache.c. */
TEST(test_each_state_of_a_disk_cache_has_its_sentence)
{
	static const char *const states[] = {"growing", "filling", "full",
					     "failed",	"off",	   "alone"};
	SCOPE(snapshot_release) struct snapshot none = snapshot_of(0, "{}");

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		SCOPE(snapshot_release)
		struct snapshot s = snapshot_of(0, "{'disk_cache': {'state': '%s'}}", states[i]);

		assert_true(strlen(verdict_disk_text(&s)) > strlen(states[i]));
	}
	assert_string_equal(verdict_disk_text(&none), "");
}

TEST(test_files_are_those_that_were_served_or_opened)
{
	static const char stats[] = "{'served_files': %d, 'requests': {'ioctl': %d}}";
	SCOPE(snapshot_release) struct snapshot first = snapshot_of(0, stats, 10, 10);
	SCOPE(snapshot_release) struct snapshot opened = snapshot_of(0, stats, 12, 40);
	SCOPE(snapshot_release) struct snapshot served = snapshot_of(0, stats, 40, 12);

	assert_int_equal(snapshot_files(&first, &opened), 30);
	assert_int_equal(snapshot_files(&first, &served), 30);
	assert_int_equal(snapshot_files(&first, &first), 0);
}

/* --- mounts ----------------------------------------------------------------------------- */

static const char table[] =
	"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
	"42 22 0:39 / /mnt/in1k ro,nosuid - fuse.foldfs /data/in1k.lmdb ro,user_id=0\n"
	"43 22 0:40 / /mnt/sq ro - fuse.squashfuse squashfuse ro\n"
	"44 22 0:41 / /mnt/with\\040space\\134 ro shared:7 master:2 - fuse.foldfs /x.lmdb ro\n"
	"45 22 0:42 / /mnt/fuse.foldfs ro - fuse.foldfsx /x ro\n"
	"a line of nothing\n"
	"46 22 - fuse.foldfs /too/short ro\n";

static void assert_listed(const char *path, dev_t device, const char *expected)
{
	SCOPE(buf_release) struct buf buf = BUF_INIT;

	assert_int_equal(mounts_list(path, device, &buf), 0);
	assert_string_equal(buf.len ? buf.data : "", expected);
}

TEST(test_foldfs_mounts_are_found_in_the_table)
{
	char path[] = "/tmp/foldfs-stat-XXXXXX";
	SCOPE_CLOSE int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, table, strlen(table)), strlen(table));
	assert_listed(path, 0, "/mnt/in1k, /mnt/with space\\");
	assert_listed(path, makedev(0, 41), "/mnt/with space\\");
	assert_listed(path, makedev(8, 1), "");
	unlink(path);
}

TEST(test_mounts_of_a_user_are_found_once)
{
	static const char of_users[] =
		"42 22 0:39 / /mnt/a ro - fuse.foldfs /a.lmdb ro,user_id=7,group_id=7\n"
		"43 42 0:40 / /mnt/a ro - fuse.foldfs /above.lmdb ro,user_id=7\n"
		"44 22 0:41 / /mnt/b ro - fuse.foldfs /b.lmdb ro,user_id=77\n"
		"45 22 0:42 / /mnt/c ro - fuse.squashfuse c ro,user_id=7\n"
		"46 22 0:43 / /mnt/d\\040 ro - fuse.foldfs /d.lmdb ro,user_id=7\n";
	char path[] = "/tmp/foldfs-stat-XXXXXX", *paths[4] = {0};
	SCOPE_CLOSE int fd = mkstemp(path);

	assert_int_equal(write(fd, of_users, strlen(of_users)), strlen(of_users));
	assert_int_equal(mounts_of_user(path, 0, paths, 4), 0);
	assert_int_equal(mounts_of_user(path, 77, paths, 4), 1);
	assert_string_equal(paths[0], "/mnt/b");
	free(paths[0]);
	assert_int_equal(mounts_of_user(path, 7, paths, 1), 1);
	free(paths[0]);
	assert_int_equal(mounts_of_user(path, 7, paths, 4), 2);
	assert_string_equal(paths[0], "/mnt/a");
	assert_string_equal(paths[1], "/mnt/d ");
	free(paths[0]);
	free(paths[1]);
	assert_int_equal(mounts_of_user("/nonexistent", 7, paths, 4), -ENOENT);
	assert_int_equal(mounts_of_user("/", 7, paths, 4), -EISDIR);
	unlink(path);
}

/* As where a line was too long to be read whole. */
TEST(test_an_escape_that_is_cut_off_stays)
{
	const char *const texts[] = {"/a\\040b\\134", "/a b\\",	  "\\04",  "\\04", "\\", "\\",
				     "\\ 1\\+7",      "\\ 1\\+7", "\\089", "\\089"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i += 2) {
		char text[16] = {0};

		memset(text, '!', sizeof(text) - 1);
		memcpy(text, texts[i], strlen(texts[i]) + 1);
		mountinfo_unescape(text);
		assert_string_equal(text, texts[i + 1]);
	}
}

TEST(test_a_missing_table_is_an_error)
{
	SCOPE(buf_release) struct buf buf = BUF_INIT;

	assert_int_equal(mounts_list("/nonexistent", 0, &buf), -ENOENT);
	assert_int_equal(mounts_list("/", 0, &buf), -EISDIR);
}
