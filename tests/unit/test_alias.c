/* Files that share their bytes: one is stored, the others are aliases of it. Each is a file of its
 * own in every other way. */
#include "pack_fixture.h"
#include "tests/unit/test.h"
#include <lmdb.h>

enum { FIRST = 5000, LARGE = 2 * MIB + 10 };

/*	0 (root)   1 a/   2 b/   3 first: 5000   4 linked: link to b/copy
 *	5 a/copy = first   6 a/large: 2 MiB + 10   7 b/copy = first   8 b/large = a/large   9 b/own
 */
static void build(struct fixture *f)
{
	add_lines(f,
		  "a/\nb/\nfirst 5000\na/large 2097162\na/copy == first\nb/copy == first\n"
		  "b/large == a/large\nb/own 300\nlinked => b/copy");
	finish(f);
}

static void build_and_open(struct fixture *f)
{
	build(f);
	open_pack(f);
}

static void expect_twins(struct fixture *f)
{
	expect_file(f, "first", FIRST);
	expect_file_of(f, "a/copy", "first", FIRST);
	expect_file_of(f, "b/copy", "first", FIRST);
	expect_file_of(f, "linked", "first", FIRST);
	expect_file(f, "a/large", LARGE);
	expect_file(f, "b/large", LARGE);
	expect_file(f, "b/own", 300);
	expect_faults(f, "");
}

FIXTURE(f, struct fixture, fixture_setup, fixture_teardown);

/* --- what readers see ---------------------------------------------------------------------------
 */

TEST_OF(f, an_alias_has_the_bytes_of_its_file)
{
	struct dataset_entry e;

	build_and_open(f);
	expect_twins(f);
	e = dataset_entry(f->dataset, find(f, "a/copy"));
	assert_int_equal(e.kind, FORMAT_ALIAS);
	assert_int_equal(e.inode, find(f, "a/copy"));
	assert_int_equal(e.holder, find(f, "first"));
	e = dataset_entry(f->dataset, find(f, "first"));
	assert_int_equal(e.holder, find(f, "first"));
	assert_int_equal(dataset_info(f->dataset)->super->incompat, FORMAT_ALIASES);
}

/* Which file was meant is told by the extent; where it lies by its place. */
TEST_OF(f, the_extents_of_an_alias_are_its_own_and_lie_where_its_file_does)
{
	struct dataset_extent mine, its;
	uint64_t alias, file;

	build_and_open(f);
	alias = dataset_first_extent(f->dataset, find(f, "b/large"));
	file = dataset_first_extent(f->dataset, find(f, "a/large"));
	for (unsigned i = 0; i < 3; i++) {
		mine = dataset_extent(f->dataset, alias + i);
		its = dataset_extent(f->dataset, file + i);
		assert_int_equal(mine.entry, find(f, "b/large"));
		assert_int_equal(its.entry, find(f, "a/large"));
		assert_int_equal(mine.offset, its.offset);
		assert_int_equal(mine.size, its.size);
		assert_int_equal(mine.from, its.from);
	}
}

TEST_OF(f, what_is_known_of_an_image_holds_for_its_aliases)
{
	struct dataset_image image = {.kind = IMAGE_PNG, .width = 30, .height = 40};
	uint32_t id;

	id = add_file(f, PACK_ROOT, "x.png", 600);
	builder_image(f->builder, id, &image);
	add_alias(f, PACK_ROOT, "y.png", id);
	finish_and_open(f);
	image = (struct dataset_image){0};
	assert_done(dataset_image(f->dataset, find(f, "y.png"), &image));
	assert_int_equal(image.kind, IMAGE_PNG);
	assert_int_equal(image.width, 30);
	assert_int_equal(image.height, 40);
}

/* --- in the LMDB --------------------------------------------------------------------------------
 */

TEST_OF(f, aliases_outlive_other_tools_that_move_the_pages)
{
	char copy[120];
	struct lmdb lmdb;

	build(f);
	snprintf(copy, sizeof(copy), "%s.copy", f->path);
	lmdb_begin(&lmdb, f->path, false);
	assert_done(mdb_env_copy2(lmdb.env, copy, MDB_CP_COMPACT));
	lmdb_end(&lmdb);
	assert_done(rename(copy, f->path));
	open_pack(f);
	assert_true(dataset_info(f->dataset)->relocated);
	expect_twins(f);
}

TEST_OF(f, a_record_of_another_path_or_none_is_a_fault)
{
	MDB_val wrong = {19, (void *)(uintptr_t) "\0foldfs-link\na/copy"};
	MDB_val a = {6, (void *)(uintptr_t) "a/copy"}, b = {7, (void *)(uintptr_t) "b/large"};
	struct lmdb lmdb;

	build(f);
	lmdb_begin(&lmdb, f->path, true);
	assert_done(mdb_put(lmdb.txn, lmdb.dbi, &a, &wrong, 0));
	assert_done(mdb_del(lmdb.txn, lmdb.dbi, &b, NULL));
	lmdb_end(&lmdb);
	open_pack(f);
	expect_faults(f,
		      "a/copy: wrong-link: its record names another file than the index says\n"
		      "b/large: no-record: has no record\n");
}

/* --- damage -------------------------------------------------------------------------------------
 */

TEST_OF(f, aliases_that_lead_astray_are_refused)
{
	static const struct damaged cases[] = {
		{"start[5]", 10, -EBADMSG, "damaged index: entry 5"}, /* beyond */
		{"start[5]", UINT64_MAX, -EBADMSG, "damaged index: entry 5"},
		{"start[5]", 0, -EBADMSG, "damaged index: entry 5"}, /* a directory */
		{"start[5]", 4, -EBADMSG, "damaged index: entry 5"}, /* a hard link */
		{"start[5]", 5, -EBADMSG, "damaged index: entry 5"}, /* itself */
		{"start[5]", 7, -EBADMSG, "damaged index: entry 5"}, /* an alias */
		{"start[5]", 6, -EBADMSG, "damaged index: entry 5"}, /* of another size */
		{"size[5]", FIRST - 1, -EBADMSG, "damaged index: entry 5"},
		{"size[5]", 0, -EBADMSG, "damaged index: entry 5"},
		{"kind[3]", FORMAT_SYMLINK, -EBADMSG, "damaged index: entry 3"},
		{"kind[9]", FORMAT_ALIAS, -EBADMSG, "damaged index: entry 9"},
		{"kind[7]", FORMAT_DIRECTORY, -EBADMSG, "damaged index: entry 4"},
		{"size[3]", FIRST + 1, -EBADMSG, "damaged index: entry 5"},
		{"super.sums.count", 7, -EBADMSG,
		 "damaged superblock: section sums has a wrong shape"},
	};

	expect_all_refused(f, build, cases, sizeof(cases) / sizeof(*cases));
}

/* --- building -----------------------------------------------------------------------------------
 */

static bool same(struct fixture *f, uint32_t id, const char *name, size_t len)
{
	uint8_t *bytes = malloc(len + 1);
	bool ret = false;

	assert_non_null(bytes);
	pattern_bytes(pattern_seed(name, strlen(name)), 0, bytes, len);
	assert_done(builder_same(f->builder, id, bytes, len, &ret));
	free(bytes);
	return ret;
}

TEST_OF(f, stored_bytes_are_compared_committed_or_not)
{
	char name[16];
	uint32_t ids[5], small, none;

	small = add_file(f, PACK_ROOT, "small", 600);
	none = add_file(f, PACK_ROOT, "none", 0);
	for (unsigned i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "z%u", i);
		ids[i] = add_file(f, PACK_ROOT, name, BATCH * 5 / 16 + i);
		assert_true(same(f, ids[0], "z0", BATCH * 5 / 16));
		assert_true(same(f, ids[i], name, BATCH * 5 / 16 + i));
		assert_false(same(f, ids[i], name, BATCH * 5 / 16 + i - 1));
		assert_false(same(f, ids[i], "other", BATCH * 5 / 16 + i));
	}
	assert_true(same(f, small, "small", 600));
	assert_false(same(f, small, "other", 600));
	assert_true(same(f, none, "none", 0));
	finish_and_open(f);
	expect_file(f, "z0", BATCH * 5 / 16);
}

TEST_OF(f, only_what_was_stored_can_be_shared)
{
	uint32_t file, empty, dir, alias;
	bool unused;

	dir = add_dir(f, PACK_ROOT, "dir");
	file = add_file(f, PACK_ROOT, "file", 600);
	empty = add_name(f, PACK_ROOT, "without its bytes");
	assert_int_equal(builder_same(f->builder, empty, "", 0, &unused), -EINVAL);
	assert_int_equal(builder_same(f->builder, 99, "", 0, &unused), -EINVAL);
	assert_int_equal(builder_alias(f->builder, empty, dir, &f->err), -EINVAL);
	assert_string_equal(f->err.text, "the bytes of a file that has none of its own");
	assert_int_equal(builder_alias(f->builder, empty, empty, &f->err), -EINVAL);
	assert_int_equal(builder_alias(f->builder, empty, 99, &f->err), -EINVAL);
	assert_int_equal(builder_alias(f->builder, file, file, &f->err), -EINVAL);
	assert_string_equal(f->err.text, "not a file that still wants its bytes");
	alias = add_alias(f, PACK_ROOT, "alias", file);
	assert_int_equal(builder_alias(f->builder, empty, alias, &f->err), -EINVAL);
	assert_int_equal(store_bytes(f, alias, "alias", 1, 0), -EINVAL);
	store(f, empty, "x", 7);
	finish_and_open(f);
	expect_file_of(f, "alias", "file", 600);
	expect_file_of(f, "without its bytes", "x", 7);
}

TEST_OF(f, an_alias_of_a_taken_path_is_refused_and_can_be_dropped)
{
	uint32_t file, id;

	file = add_file(f, PACK_ROOT, "same", 600);
	id = add_name(f, PACK_ROOT, "same");
	assert_int_equal(builder_alias(f->builder, id, file, &f->err), -EEXIST);
	assert_string_equal(f->err.text, "two entries have the path 'same'");
	builder_drop(f->builder, id);
	finish_and_open(f);
	expect_file(f, "same", 600);
	assert_int_equal(dataset_info(f->dataset)->super->incompat, 0);
}

/* Aliases on both sides of the ends of batches, and before their files in the order of paths. */
static XXH128_hash_t build_many(struct fixture *f)
{
	uint32_t ids[500], id;
	char name[16];

	for (unsigned i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "%03u", i);
		ids[i] = add_file(f, PACK_ROOT, name, BATCH / 200 + i);
		snprintf(name, sizeof(name), "%c%03u", i % 2 ? 'z' : '!', i);
		id = add_name(f, PACK_ROOT, name);
		assert_done(builder_alias(f->builder, id, ids[i / 2], &f->err));
	}
	finish(f);
	return file_hash(f->path);
}

TEST_OF(f, the_same_input_gives_the_same_file)
{
	XXH128_hash_t first = build_many(f);

	assert_true(XXH128_isEqual(first, build_many(f)));
	open_pack(f);
	expect_file_of(f, "z499", "249", BATCH / 200 + 249);
	expect_file_of(f, "!498", "249", BATCH / 200 + 249);
	expect_faults(f, "");
}
