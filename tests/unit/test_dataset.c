/* A pack read back: the tree, the bytes, what liblmdb makes of it, and packs that other tools
 * rewrote or wrote to. */
#include "pack_fixture.h"
#include "tests/unit/test.h"
#include <lmdb.h>
#include <sys/uio.h>
#include <time.h>

static const uint64_t sizes[] = {
	0,    1,    2,	  15,	     16,      255,  256,     1999,    2000,	   2001, 2010,
	2020, 2030, 2038, 2048,	     2100,    4064, 4079,    4080,    4081,	   4095, 4096,
	4097, 8176, 8177, 110 * KIB, MIB - 1, MIB,  MIB + 1, 2 * MIB, 3 * MIB + 5,
};
#define SIZE_COUNT (sizeof(sizes) / sizeof(*sizes))

static const char *size_name(size_t i)
{
	static char name[32];

	snprintf(name, sizeof(name), "of%llu", (unsigned long long)sizes[i]);
	return name;
}

FIXTURE(f, struct fixture, fixture_setup, fixture_teardown);

TEST_OF(f, files_of_every_size_come_back)
{
	for (size_t i = 0; i < SIZE_COUNT; i++)
		add_file(f, PACK_ROOT, size_name(i), sizes[i]);
	finish_and_open(f);
	for (size_t i = 0; i < SIZE_COUNT; i++)
		expect_file(f, size_name(i), sizes[i]);
	assert_int_equal(dataset_info(f->dataset)->super->files, SIZE_COUNT);
	assert_false(dataset_info(f->dataset)->relocated);
	expect_faults(f, "");
}

/* Records in the leaves move whenever a neighbour comes in. */
TEST_OF(f, offsets_are_right_whatever_the_order_of_storing)
{
	enum { COUNT = 4000 };
	uint32_t ids[COUNT];
	char name[16];

	for (unsigned i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "%04u", i);
		ids[i] = add_name(f, PACK_ROOT, name);
	}
	for (unsigned i = 0; i < COUNT; i++) {
		unsigned k = i * 1237 % COUNT;

		snprintf(name, sizeof(name), "%04u", k);
		store(f, ids[k], name, k % 70 == 0 ? 5000 : k % 60);
	}
	finish_and_open(f);
	for (unsigned i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "%04u", i);
		expect_file(f, name, i % 70 == 0 ? 5000 : i % 60);
	}
	expect_faults(f, "");
}

TEST_OF(f, a_file_of_70_mib_is_one_record_of_many_extents)
{
	struct dataset_extent x;
	uint64_t first;

	add_file(f, PACK_ROOT, "before", 3);
	add_file(f, PACK_ROOT, "movie", 70 * MIB + 1);
	finish_and_open(f);
	expect_file(f, "movie", 70 * MIB + 1);
	first = dataset_first_extent(f->dataset, find(f, "movie"));
	assert_int_equal(first, 1);
	assert_int_equal(dataset_extents(f->dataset), 72);
	x = dataset_extent(f->dataset, 71);
	assert_int_equal(x.size, 1);
	assert_int_equal(x.from, 70 * MIB);
	assert_int_equal(x.entry, find(f, "movie"));
}

TEST_OF(f, folders_behind_the_255th_entry_keep_their_files)
{
	char name[16];

	for (unsigned i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "%u", 100 + i);
		add_file(f, add_dir(f, PACK_ROOT, name), "file", 1);
	}
	finish_and_open(f);
	expect_file(f, "100/file", 1);
	expect_file(f, "399/file", 1);
}

TEST_OF(f, paths_over_511_bytes_have_hashed_keys)
{
	char name[201], path[1300];
	uint32_t dir = PACK_ROOT, ids[6];
	size_t len;

	memset(name, 'd', 200);
	name[200] = '\0';
	for (int depth = 0; depth < 6; depth++) {
		ids[depth] = add_file(f, dir, "leaf", 100 + 3000u * (unsigned)depth);
		add_link(f, dir, "linked", ids[depth]);
		dir = add_dir(f, dir, name);
	}
	finish_and_open(f);
	len = 0;
	for (int depth = 0; depth < 6; depth++) {
		strcpy(path + len, "leaf");
		expect_file(f, path, 100 + 3000u * (unsigned)depth);
		strcpy(path + len, "linked");
		expect_file_of(f, path, "leaf", 100 + 3000u * (unsigned)depth);
		len += (size_t)sprintf(path + len, "%s/", name);
	}
	expect_faults(f, "");
}

TEST_OF(f, what_is_known_of_images_is_kept)
{
	struct dataset_image image = {.kind = IMAGE_JPEG, .width = 500, .height = 70000};
	uint32_t id;

	id = add_file(f, PACK_ROOT, "x.jpg", 10);
	builder_image(f->builder, id, &image);
	add_file(f, PACK_ROOT, "y", 10);
	add_link(f, PACK_ROOT, "z.jpg", id);
	finish_and_open(f);
	assert_done(dataset_image(f->dataset, find(f, "z.jpg"), &image));
	assert_int_equal(image.kind, IMAGE_JPEG);
	assert_int_equal(image.width, 500);
	assert_int_equal(image.height, 70000);
	assert_done(dataset_image(f->dataset, find(f, "y"), &image));
	assert_int_equal(image.kind, IMAGE_UNKNOWN);
	assert_int_equal(image.width, 0);
	assert_memory_equal(dataset_info(f->dataset)->options, "order=path\n", 11);
	assert_int_equal(dataset_info(f->dataset)->options_len, 11);
}

TEST_OF(f, times_beyond_64_bits_of_nanoseconds_become_the_nearest)
{
	struct dataset_attr attr;

	start(f);
	builder_attr(f->builder, PACK_ROOT, 0755, (struct timespec){.tv_sec = INT64_MAX / 4});
	finish_and_open(f);
	assert_done(dataset_attr(f->dataset, DATASET_ROOT, &attr));
	assert_int_equal(attr.mtime.tv_sec, INT64_MAX / 1000000000);
}

/* --- extents and their checksums ------------------------------------------------------------ */

TEST_OF(f, extents_are_numbered_through_in_entry_order)
{
	uint64_t next = 0;
	char name[16];

	for (unsigned i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "%03u", i);
		if (i % 5 == 4)
			add_dir(f, PACK_ROOT, name);
		else
			add_file(f, PACK_ROOT, name, i % 5 == 0 ? 0 : i % 97 ? i : 2 * MIB + 1);
	}
	finish_and_open(f);
	for (uint32_t entry = 1; entry < dataset_entries(f->dataset); entry++) {
		struct dataset_extent x;
		const struct dataset_entry e = dataset_entry(f->dataset, entry);

		if (e.kind != FORMAT_FILE)
			continue;
		assert_int_equal(dataset_first_extent(f->dataset, entry), next);
		for (uint64_t from = 0; from < e.size; from += x.size) {
			x = dataset_extent(f->dataset, next++);
			assert_int_equal(x.entry, entry);
			assert_int_equal(x.from, from);
		}
	}
	assert_int_equal(dataset_extents(f->dataset), next);
}

TEST_OF(f, extents_are_checked_in_whatever_pieces)
{
	uint8_t bytes[1000];
	struct iovec iov[3] = {{bytes, 1}, {bytes + 1, 0}, {bytes + 1, 999}};
	uint64_t extent;

	add_file(f, PACK_ROOT, "x", 1000);
	finish_and_open(f);
	extent = dataset_first_extent(f->dataset, find(f, "x"));
	assert_int_equal(dataset_read(f->dataset, find(f, "x"), bytes, 1000, 0), 1000);
	assert_done(dataset_check(f->dataset, extent, iov, 3));
	bytes[999] ^= 1;
	assert_int_equal(dataset_check(f->dataset, extent, iov, 3), -EBADMSG);
}

TEST_OF(f, reads_are_cut_at_the_end_of_the_file_only)
{
	const uint64_t size = 2 * MIB + 100;
	uint8_t *have = malloc(3 * MIB), *want = malloc(3 * MIB);
	uint32_t entry;

	assert_non_null(have);
	assert_non_null(want);
	add_file(f, PACK_ROOT, "x", size);
	finish_and_open(f);
	entry = find(f, "x");
	assert_int_equal(dataset_read(f->dataset, entry, have, 3 * MIB, 7), size - 7);
	pattern_bytes(pattern_seed("x", 1), 7, want, size - 7);
	assert_memory_equal(have, want, size - 7);
	assert_int_equal(dataset_read(f->dataset, entry, have, 3 * MIB, size - 1), 1);
	assert_int_equal(dataset_read(f->dataset, entry, have, 3 * MIB, UINT64_MAX), 0);
	assert_int_equal(dataset_read(f->dataset, entry, have, 0, 0), 0);
	free(have);
	free(want);
}

TEST_OF(f, an_extent_knows_those_of_its_file)
{
	struct dataset_extent x;

	add_lines(f, "0 10\n1 2097153\n2 => 1\n3 0\n4 == 1");
	finish_and_open(f);
	for (uint64_t e = 0; e < dataset_extents(f->dataset); e++) {
		x = dataset_extent(f->dataset, e);
		assert_int_equal(x.file, e == 0 ? 0 : e < 4 ? 1 : 4);
		assert_int_equal(x.file_end, e == 0 ? 1 : e < 4 ? 4 : 7);
	}
	assert_int_equal(dataset_extents(f->dataset), 7);
}

static uint64_t suffix_of(struct fixture *f, const char *path)
{
	return dataset_suffix(f->dataset, find(f, path));
}

TEST_OF(f, a_suffix_begins_at_the_last_dot)
{
	add_lines(f, "case.1.jpg 10\ncase.1.txt 10\ne.jpg 10\n.hidden 10\nbare 10");
	finish_and_open(f);
	assert_int_equal(suffix_of(f, "case.1.jpg"), suffix_of(f, "e.jpg"));
	assert_int_not_equal(suffix_of(f, "case.1.jpg"), suffix_of(f, "case.1.txt"));
	assert_int_equal(suffix_of(f, ".hidden"), suffix_of(f, "bare"));
	assert_int_not_equal(suffix_of(f, "bare"), suffix_of(f, "e.jpg"));
}

/* --- other readers and writers of LMDBs ----------------------------------------------------- */

static void build_small(struct fixture *f)
{
	add_lines(f,
		  "n01440764/x.JPEG 112640\nn01440764/tiny 12\nn01440764/none 0\n"
		  "same => n01440764/x.JPEG\nto -> same");
	finish(f);
}

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *format, ...)
{
	char command[512];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	if (system(command) != 0)
		fail_msg("failed: %s", command);
}

static void need_lmdb_tools(void)
{
	if (system("command -v mdb_copy mdb_dump mdb_load >/dev/null") == 0)
		return;
	print_message("mdb_copy, mdb_dump or mdb_load is missing: install lmdb-utils\n");
	skip();
}

static void rewrite_with_copy(struct fixture *f)
{
	run("mdb_copy -n -c %s %s/copied && mv -f %s/copied %s", f->path, f->dir, f->dir, f->path);
}

static void rewrite_with_dump_and_load(struct fixture *f)
{
	run("mdb_dump -n %s | mdb_load -n %s/loaded 2>/dev/null && mv -f %s/loaded %s", f->path,
	    f->dir, f->dir, f->path);
}

static void expect_relocated(struct fixture *f)
{
	open_pack(f);
	assert_true(dataset_info(f->dataset)->relocated);
	assert_string_equal(dataset_info(f->dataset)->id, f->summary.id);
	assert_done(dataset_unchanged(f->dataset, 0));
}

/* So small that page counts, root and transaction number are the same as before. A slash sorts
 * behind a dash, and before a digit. */
TEST_OF(f, a_tiny_pack_dumped_and_loaded_is_noticed_all_the_same)
{
	need_lmdb_tools();
	add_lines(f, "a 5\nd/x 6\nd-/y 7\nd-e 8\nd0/z 9\nd0e 10");
	finish(f);
	rewrite_with_dump_and_load(f);
	expect_relocated(f);
	expect_file(f, "a", 5);
	expect_file(f, "d/x", 6);
	expect_file(f, "d-e", 8);
	expect_file(f, "d0/z", 9);
	expect_faults(f, "");
}

/* The hole that the failing file leaves goes, and the old offset lies beyond the end. */
TEST_OF(f, a_pack_that_shrinks_in_compacting_is_read_at_its_new_offsets)
{
	uint32_t bad;

	need_lmdb_tools();
	bad = add_name(f, PACK_ROOT, "bad");
	assert_int_equal(store_bytes(f, bad, "bad", 20 * MIB, 1), -EIO);
	builder_drop(f->builder, bad);
	add_file(f, PACK_ROOT, "good", 10000);
	finish(f);
	rewrite_with_copy(f);
	expect_relocated(f);
	expect_file(f, "good", 10000);
}

static void lose_record(struct fixture *f, const char *key)
{
	MDB_val k = lmdb_text(key, strlen(key));
	struct lmdb lmdb;

	lmdb_begin(&lmdb, f->path, true);
	assert_done(mdb_del(lmdb.txn, lmdb.dbi, &k, NULL));
	lmdb_end(&lmdb);
}

TEST_OF(f, of_many_lost_records_the_first_are_named)
{
	char name[2] = "a";

	for (; *name <= 'g'; (*name)++)
		add_file(f, PACK_ROOT, name, *name == 'b' ? 0 : 10);
	finish(f);
	for (*name = 'b'; *name <= 'c'; (*name)++)
		lose_record(f, name);
	expect_refused(f, -EBADMSG, "2 of 7 files have no record: 'b', 'c'");
	for (*name = 'd'; *name <= 'f'; (*name)++)
		lose_record(f, name);
	expect_refused(f, -EBADMSG, "5 of 7 files have no record: 'b', 'c', 'd', ...");
}

TEST_OF(f, a_record_replaced_by_one_of_another_size_is_damage)
{
	build_small(f);
	lmdb_put(f->path, "n01440764/tiny", 14, "thirteen bytes");
	expect_refused(f, -EBADMSG, "'n01440764/tiny': 14 bytes stored, 12 in the index");
}

TEST_OF(f, records_that_others_added_are_reported_not_served)
{
	uint32_t entry;

	build_small(f);
	lmdb_put(f->path, "n01440764//tiny", 15, "twelve bytes");
	lmdb_put(f->path, "/same", 5, "?");
	lmdb_put(f->path, "n01440764", 9, "?");
	lmdb_put(f->path, "same/x", 6, "?");
	lmdb_put(f->path, "same", 4, "another");
	open_pack(f);
	assert_true(dataset_info(f->dataset)->relocated);
	assert_int_equal(dataset_find(f->dataset, "same/x", 6, &entry), -ENOTDIR);
	expect_file(f, "n01440764/tiny", 12);
	expect_faults(f,
		      "/same: unknown-record: a record that the index does not know\n"
		      "n01440764: unknown-record: a record that the index does not know\n"
		      "n01440764//tiny: unknown-record: a record that the index does not know\n"
		      "same: wrong-link: its record names another file than the index says\n"
		      "same/x: unknown-record: a record that the index does not know\n");
}

static int stop_at_once(void *context, const struct dataset_fault *fault)
{
	(void)fault;
	++*(int *)context;
	return -ECANCELED;
}

TEST_OF(f, checking_keys_stops_when_told)
{
	int calls = 0;

	build_small(f);
	lmdb_put(f->path, "x", 1, "?");
	lmdb_put(f->path, "y", 1, "?");
	open_pack(f);
	assert_int_equal(dataset_check_keys(f->dataset, stop_at_once, &calls, NULL), -ECANCELED);
	assert_int_equal(calls, 1);
}

/* --- the file changes while it is open ------------------------------------------------------ */

/* The size stays, and the time of change is put back: only the transaction number tells. */
TEST_OF(f, a_commit_is_noticed_behind_a_forged_mtime)
{
	struct timespec times[2];
	struct stat before, after;

	build_small(f);
	lmdb_put(f->path, "n02", 3, "one");
	lmdb_put(f->path, "n02", 3, "two");
	lmdb_put(f->path, "n02", 3, "one");
	assert_done(stat(f->path, &before));
	open_pack(f);
	lmdb_put(f->path, "n02", 3, "two");
	times[0] = before.st_atim;
	times[1] = before.st_mtim;
	assert_done(utimensat(AT_FDCWD, f->path, times, 0));
	assert_done(stat(f->path, &after));
	if (after.st_size != before.st_size)
		fail_msg("the commit changed the size: nothing is tested here");
	assert_int_equal(dataset_unchanged(f->dataset, 0), -ESTALE);
	assert_int_equal(dataset_unchanged(f->dataset, 0), -ESTALE);
}
