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

static void assert_said(const struct verdict *verdict, const char *word, const char *text)
{
	SCOPE(buf_release) struct buf buf = BUF_INIT;

	assert_string_equal(verdict_word(verdict), word);
	assert_true(strlen(verdict_word(verdict)) <= 17);
	assert_int_equal(verdict_text(verdict, "/p.lmdb", &buf), 0);
	assert_string_equal(buf.data, text);
}

/* What is said of ten seconds between two stats. */
struct said {
	const char *before, *after, *word, *text;
};

static void assert_all_said(const struct said *said, size_t count)
{
	for (; count; said++, count--) {
		SCOPE(snapshot_release)
		struct snapshot before = snapshot_of(5, "{%s}", said->before);
		SCOPE(snapshot_release)
		struct snapshot after = snapshot_of(15, "{%s}", said->after);
		struct verdict verdict = verdict_of(&before, &after);

		assert_said(&verdict, said->word, said->text);
	}
}

#define SAID(said)	   assert_all_said(said, sizeof(said) / sizeof((said)[0]))
#define WAITED(reads, us)  "'requests': {'read': " #reads "}, 'wait': {'total_us': " #us "}"
#define DEVICE(bytes)	   ", 'device': {'bytes': " #bytes "}"
#define EARLIER		   WAITED(1000, 123456)
#define NEVER_WAITED	   "readers never waited: storage is not the limit\n"
#define DISK_90		   "the disk is the limit: 0.0 MB/s from the device, readers waited 90 % of the time\n"
#define LIMIT_90(sentence) sentence ": 0.0 MB/s from the server, readers waited 90 % of the time\n"

TEST(test_verdicts_follow_the_share_of_waiting)
{
	static const struct said said[] = {
		{EARLIER, WAITED(1009, 123456), "not the storage", NEVER_WAITED},
		{EARLIER, WAITED(1009, 132456), "not the storage",
		 "readers waited less than 0.1 % of the time: storage is not the limit\n"},
		{EARLIER, WAITED(1009, 163456), "not the storage",
		 "readers waited 0.4 % of the time: storage is not the limit\n"},
		{EARLIER, WAITED(1009, 623455), "not the storage",
		 "readers waited 5.0 % of the time: storage is not the limit\n"},
		{EARLIER, WAITED(1009, 623456) DEVICE(412000000), "storage slows",
		 "readers waited 5.0 % of the time: storage slows them, 41.2 MB/s from the "
		 "device\n"},
		{EARLIER, WAITED(1009, 8113456) DEVICE(412000000), "storage slows",
		 "readers waited 80 % of the time: storage slows them, 41.2 MB/s from the "
		 "device\n"},
		{EARLIER, WAITED(1009, 9423456) DEVICE(1780000000), "disk is the limit",
		 "the disk is the limit: 178 MB/s from the device, readers waited 93 % of the "
		 "time\n"},
		{EARLIER, WAITED(1009, 37323456) DEVICE(1780000000), "disk is the limit",
		 "the disk is the limit: 178 MB/s from the device, 3.7 reads waiting at any "
		 "time\n"},
		/* a wait that ends late */
		{EARLIER, WAITED(1000, 12123456), "disk is the limit",
		 "the disk is the limit: 0.0 MB/s from the device, 1.2 reads waiting at any "
		 "time\n"},
	};

	SAID(said);
}

TEST(test_of_a_server_it_says_what_limits)
{
#define SERVER(order, refused, ahead, full)                                               \
	WAITED(9, 9000000)                                                                \
	", 'oracle': {'state': '" order "'}, 'far': {'requests': 7, 'refused': " #refused \
	", 'ahead': " #ahead ", 'ahead_most': 32, 'full': " #full "}"
	static const struct said said[] = {
		{"", SERVER("none", 0, 30, true), "network limits",
		 LIMIT_90("the network is the limit") "their order was not recognised: 'foldstat "
						      "--order' can give it\n"},
		{"", SERVER("watching", 0, 8, true), "latency limits",
		 LIMIT_90("the server's latency is the limit")},
		{"", SERVER("locked", 0, 8, true), "memory limits",
		 LIMIT_90("memory is the limit") "their order is known: more memory ('--pool') "
						 "helps\n"},
		{"", SERVER("locked", 0, 8, false), "latency limits",
		 LIMIT_90("the server's latency is the limit") "their order is known, and read "
							       "ahead as fast as it comes\n"},
		{"", SERVER("off", 3, 30, false), "server overloaded",
		 LIMIT_90("the server is overloaded")},
		/* with a copy on the disk; the server was asked for what opens the pack */
		{"",
		 SERVER("off", 0, 30,
			false) ", 'disk_cache': {'near_bytes': 101, 'far_bytes': 100}",
		 "disk is the limit", DISK_90},
		{"",
		 SERVER("off", 0, 30, false) ", 'disk_cache': {'near_bytes': 99, 'far_bytes': 100}",
		 "network limits", LIMIT_90("the network is the limit")},
	};

	SAID(said);
}

TEST(test_nothing_read_is_told_from_nothing_read_here)
{
	static const struct said said[] = {
		{"", "'requests': {'lookup': 7}", "nothing read yet", "nothing was read yet\n"},
		{EARLIER, EARLIER, "cached, or idle",
		 "nothing is read, or the kernel's cache has it all\n"},
		{"'requests': {'read': 9}", "'requests': {'read': 9, 'ioctl': 12}",
		 "kernel's cache", "from the kernel's cache: all; storage is not the limit\n"},
		/* a file that goes to the kernel as it is opened is not read by a request */
		{"", "'requests': {'ioctl': 3}, 'served_bytes': 3000", "not the storage",
		 NEVER_WAITED},
		{"'requests': {'ioctl': 3}, 'served_bytes': 3000",
		 "'requests': {'ioctl': 9}, 'served_bytes': 9000", "not the storage", NEVER_WAITED},
	};

	SAID(said);
}

TEST(test_storage_that_does_not_answer_is_no_silence)
{
	static const struct said said[] = {
		{"", "'requests': {'read': 4}, 'wait': {'parked': 3, 'oldest_ms': 12345}",
		 "storage hangs", "storage does not answer: 3 reads waiting, the first for 12 s\n"},
		{"", "'requests': {'read': 4}, 'wait': {'parked': 3, 'oldest_ms': 100}",
		 "not the storage", NEVER_WAITED},
	};

	SAID(said);
}

TEST(test_bad_files_come_first_and_once)
{
	static const struct said said[] = {
		{EARLIER ", 'bad_files': 3", WAITED(1001, 123456) ", 'bad_files': 4",
		 "unreadable files",
		 "1 file could not be read: 'foldpack verify /p.lmdb' lists all\n" NEVER_WAITED},
		{EARLIER ", 'bad_files': 3", WAITED(1001, 123456) ", 'bad_files': 5",
		 "unreadable files",
		 "2 files could not be read: 'foldpack verify /p.lmdb' lists all\n" NEVER_WAITED},
		{EARLIER ", 'bad_files': 3", WAITED(1001, 123456) ", 'bad_files': 3",
		 "not the storage", NEVER_WAITED},
		/* a pack that was written to is named alone */
		{EARLIER ", 'bad_files': 3",
		 WAITED(1000, 123456) ", 'bad_files': 10, 'changed': true", "pack has changed",
		 "the pack was written to while mounted: reads fail until\n"
		 "'/p.lmdb' is mounted again\n"
		 "nothing is read, or the kernel's cache has it all\n"},
	};

	SAID(said);
}

TEST(test_to_readers_that_wait_it_says_what_is_known_of_their_order)
{
#define ORDER(state, us) WAITED(9, us) ", 'oracle': {'state': '" state "'}"
	static const struct said said[] = {
		{"", ORDER("off", 9000000), "disk is the limit", DISK_90},
		{"", ORDER("watching", 9000000), "disk is the limit", DISK_90},
		{"", ORDER("searching", 9000000), "disk is the limit",
		 DISK_90 "their order is still being searched for\n"},
		{"", ORDER("locked", 9000000), "disk is the limit",
		 DISK_90 "their order is known, and read ahead as fast as the device can\n"},
		{"", ORDER("none", 9000000), "disk is the limit",
		 DISK_90 "their order was not recognised: 'foldstat --order' can give it\n"},
		{"", ORDER("searching", 0), "not the storage", NEVER_WAITED},
		{"", ORDER("none", 0), "not the storage", NEVER_WAITED},
	};

	SAID(said);
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

TEST(test_without_an_order_it_says_what_is_done_about_it_and_why)
{
#define WHY(why) "'state': 'watching', 'full_search_s': 107, 'why': '" why "'"
	static const struct {
		const char *oracle, *said;
	} cases[] = {
		/* one that was given has no seed, and was not searched for */
		{"'state': 'locked', 'sampler': 'given', 'search_s': 21, 'seed': 7, 'files': 3",
		 "given; epoch 0: 0 of 3 files read"},
		{"'state': 'off', 'sampler': 'of before', 'search_s': 1", ""},
		{"'state': 'watching', 'sampler': 'of before'", "not known yet"},
		{"'state': 'searching', 'search_part': 40",
		 "searching: 40 % of all seeds were tested"},
		{"'state': 'none', 'sampler': 'of before'", "not recognised"},
		{"'state': 'none', 'dropped': 3",
		 "not recognised; 3 reads came too fast to be looked at"},
		{WHY("idle"), "nothing was read yet"},
		{WHY("too few files read"),
		 "not known yet: the present readers have read too few files"},
		{WHY("path order"), "one file after the other, by name: there is nothing to find"},
		{WHY("search would not pay"),
		 "not recognised; not needed: everything came in time (a search of all seeds would "
		 "take 107 s of a processor)"},
		{WHY("list too short"),
		 "not recognised: no usual seed fits, and a search of all would take longer than "
		 "the epoch"},
		{WHY("not a known order"),
		 "not recognised: no shuffle that foldfs knows; all is read ahead in one pass"},
		{WHY("of a newer release"), "not known yet"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_order(cases[i].oracle, cases[i].said);
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

static void write_table(char path[static 32], const char *text)
{
	SCOPE_CLOSE int fd = mkstemp(strcpy(path, "/tmp/foldfs-stat-XXXXXX"));

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

TEST(test_foldfs_mounts_are_found_in_the_table)
{
	char path[32], *paths[4] = {0};

	write_table(path, table);
	assert_int_equal(mounts_find(path, MOUNTS_ANYBODY, 0, paths, 4), 2);
	assert_string_equal(paths[0], "/mnt/in1k");
	assert_string_equal(paths[1], "/mnt/with space\\");
	free(paths[0]);
	free(paths[1]);
	assert_int_equal(mounts_find(path, MOUNTS_ANYBODY, makedev(0, 41), paths, 4), 1);
	assert_string_equal(paths[0], "/mnt/with space\\");
	free(paths[0]);
	assert_int_equal(mounts_find(path, MOUNTS_ANYBODY, makedev(8, 1), paths, 4), 0);
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
	char path[32], *paths[4] = {0};

	write_table(path, of_users);
	assert_int_equal(mounts_find(path, 0, 0, paths, 4), 0);
	assert_int_equal(mounts_find(path, 77, 0, paths, 4), 1);
	assert_string_equal(paths[0], "/mnt/b");
	free(paths[0]);
	assert_int_equal(mounts_find(path, 7, 0, paths, 1), 1);
	free(paths[0]);
	assert_int_equal(mounts_find(path, 7, 0, paths, 4), 2);
	assert_string_equal(paths[0], "/mnt/a");
	assert_string_equal(paths[1], "/mnt/d ");
	free(paths[0]);
	free(paths[1]);
	assert_int_equal(mounts_find("/nonexistent", 7, 0, paths, 4), -ENOENT);
	assert_int_equal(mounts_find("/", 7, 0, paths, 4), -EISDIR);
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
