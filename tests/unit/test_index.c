/* What a damaged or hostile pack is refused with: each field by its name, with the checksums
 * made right where the meaning is to be looked at. */
#include "pack/index.h"
#include "pack_fixture.h"
#include "tests/unit/test.h"
#include <lmdb.h>

/*	0 (root)     1 a/       2 b: 5000   3 c -> b   4 d: link to b   5 e/ (empty)
 *	6 a/x: 100   7 a/y: 0
 */
static void build_tree(struct fixture *f)
{
	add_lines(f, "a/\nb 5000\nc -> b\nd => b\ne/\na/x 100\na/y 0");
	finish(f);
}

#define EXPECT_ALL_REFUSED(f, cases) \
	expect_all_refused(f, build_tree, cases, sizeof(cases) / sizeof(*(cases)))

FIXTURE(f, struct fixture, fixture_setup, fixture_teardown);

TEST_OF(f, the_tree_of_these_tests_is_as_drawn)
{
	build_tree(f);
	open_pack(f);
	assert_int_equal(find(f, "a"), 1);
	assert_int_equal(find(f, "d"), 4);
	assert_int_equal(find(f, "a/y"), 7);
	assert_int_equal(dataset_entries(f->dataset), 8);
}

TEST_OF(f, a_damaged_superblock_is_refused)
{
	static const struct damaged cases[] = {
		{"super.magic", 0, -EBADMSG, "damaged superblock: bad magic"},
		{"super.section_count", 14, -EBADMSG,
		 "damaged superblock: 14 sections, not 15 to 97"},
		{"super.entries", 0, -EBADMSG, "damaged superblock: 0 entries"},
		{"super.entries", 1ull << 32, -EBADMSG, "damaged superblock: 4294967296 entries"},
		{"super.entries", 9, -EBADMSG,
		 "damaged superblock: section name-end has a wrong shape"},
		{"super.kind.width", 2, -EBADMSG,
		 "damaged superblock: section kind has a wrong shape"},
		{"super.size.width", 3, -EBADMSG,
		 "damaged superblock: section size has a wrong shape"},
		{"super.size.width", 0, -EBADMSG,
		 "damaged superblock: section size has a wrong shape"},
		{"super.start.bytes", 63, -EBADMSG,
		 "damaged superblock: section start has a wrong shape"},
		{"super.sums.count", (1ull << 61) + 2, -EBADMSG, /* times 8 it is 16 */
		 "damaged superblock: section sums has a wrong shape"},
		{"super.names.width", 1, -EBADMSG,
		 "damaged superblock: section names has a wrong shape"},
		{"super.names.bytes", 1ull << 62, -EBADMSG,
		 "damaged index: section names is missing or cut"},
	};

	EXPECT_ALL_REFUSED(f, cases);
	build_tree(f);
	damage_unsummed(f, "super.sum", 0);
	expect_refused(f, -EBADMSG, "damaged superblock: checksum mismatch");
}

TEST_OF(f, a_width_that_no_number_has_is_refused)
{
	build_tree(f);
	damage(f, "super.size.width", 3);
	damage(f, "super.size.bytes", 8 * 3);
	expect_refused(f, -EBADMSG, "damaged superblock: section size has a wrong shape");
}

TEST_OF(f, a_wrong_section_offset_is_found_anew_by_its_key)
{
	build_tree(f);
	damage(f, "super.start.offset", UINT64_MAX);
	open_pack(f);
	assert_true(dataset_info(f->dataset)->relocated);
	expect_file(f, "b", 5000);
	expect_file(f, "a/x", 100);
}

TEST_OF(f, names_that_lead_astray_are_refused)
{
	static const struct damaged cases[] = {
		{"names[1]", '/', -EBADMSG, "damaged index: a name holds a slash or NUL"},
		{"names[1]", '\0', -EBADMSG, "damaged index: a name holds a slash or NUL"},
		{"names[1]", '.', -EBADMSG, "damaged index: entry 2"},
		{"names[1]", 'a', -EBADMSG, "damaged index: entry 2"},
		{"names[1]", 'x', -EBADMSG, "damaged index: entry 3"},
		{"names[6]", 'x', -EBADMSG, "damaged index: entry 7"},
		{"name-end[0]", 1, -EBADMSG, "damaged index: entry 0"},
		{"name-end[1]", 0, -EBADMSG, "damaged index: entry 1"},
		{"name-end[2]", 200, -EBADMSG, "damaged index: entry 2"},
		{"name-end[2]", 5, -EBADMSG, "damaged index: entry 3"},
		{"name-end[7]", 8, -EBADMSG, "damaged index: entry 7"},
	};

	EXPECT_ALL_REFUSED(f, cases);
}

TEST_OF(f, of_names_that_begin_with_a_dot_two_are_refused)
{
	add_file(f, PACK_ROOT, ".a", 1);
	add_file(f, PACK_ROOT, "..a", 2);
	add_file(f, PACK_ROOT, "...", 3);
	finish_and_open(f);
	expect_file(f, ".a", 1);
	expect_file(f, "..a", 2);
	expect_file(f, "...", 3);
	damage(f, "names[5]", '.');
	damage(f, "name-end[1]", 1);
	expect_refused(f, -EBADMSG, "damaged index: entry 1");
	damage(f, "name-end[1]", 2);
	expect_refused(f, -EBADMSG, "damaged index: entry 1");
}

TEST_OF(f, trees_that_are_no_trees_are_refused)
{
	static const struct damaged cases[] = {
		{"parent[0]", 1, -EBADMSG, "damaged index: entry 0"},
		{"parent[6]", 6, -EBADMSG, "damaged index: entry 6"},
		{"parent[6]", 7, -EBADMSG, "damaged index: entry 6"},
		{"parent[6]", 255, -EBADMSG, "damaged index: entry 6"},
		{"parent[6]", 2, -EBADMSG, "damaged index: entry 6"},
		{"parent[6]", 0, -EBADMSG, "damaged index: entry 6"},
		{"parent[1]", 1, -EBADMSG, "damaged index: entry 1"},
		{"kind[0]", FORMAT_FILE, -EBADMSG, "damaged index: entry 0"},
		{"kind[1]", FORMAT_FILE, -EBADMSG, "damaged index: entry 6"},
		{"kind[2]", 0, -EBADMSG, "damaged index: entry 2"},
		{"kind[2]", 6, -EBADMSG, "damaged index: entry 2"},
		{"start[0]", 0, -EBADMSG, "damaged index: entry 0"},
		{"start[0]", 2, -EBADMSG, "damaged index: entry 1"},
		{"start[1]", 1, -EBADMSG, "damaged index: entry 1"},
		{"start[1]", 7, -EBADMSG, "damaged index: entry 1"},
		{"start[1]", UINT64_MAX, -EBADMSG, "damaged index: entry 1"},
		{"size[0]", 8, -EBADMSG, "damaged index: entry 0"},
		{"size[1]", 1, -EBADMSG, "damaged index: entry 7"},
	};

	EXPECT_ALL_REFUSED(f, cases);
}

TEST_OF(f, directories_that_share_children_are_refused)
{
	build_tree(f);
	damage(f, "start[5]", 6);
	damage(f, "size[5]", 1);
	expect_refused(f, -EBADMSG, "damaged index: folders overlap");
}

/* A chain of directories, each in the one before. */
static int check_chain(uint32_t length, struct err *err)
{
	SCOPE(index_release) struct index index = {.entries = length + 1};
	const enum format_section columns[] = {SECTION_NAME_END, SECTION_PARENT, SECTION_KIND,
					       SECTION_START, SECTION_SIZE};

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		assert_done(index_section_alloc(&index.sections[columns[i]], length + 1,
						columns[i] == SECTION_KIND ? 1 : 8));
	assert_done(index_section_alloc(&index.sections[SECTION_NAMES], length, 0));
	memset(index.sections[SECTION_NAMES].data, 'd', length);
	for (uint32_t e = 0; e <= length; e++) {
		index_put(&index, SECTION_NAME_END, e, e);
		index_put(&index, SECTION_PARENT, e, e ? e - 1 : 0);
		index_put(&index, SECTION_KIND, e, FORMAT_DIRECTORY);
		index_put(&index, SECTION_START, e, e < length ? e + 1 : 0);
		index_put(&index, SECTION_SIZE, e, e < length);
	}
	return index_check(&index, 0, err);
}

/* To list 150,000 of them would be to write 22 GB. */
TEST_OF(f, a_tree_that_is_too_deep_is_refused)
{
	struct err err = {0};

	assert_done(check_chain(FORMAT_DEPTH_MAX + 1, &err));
	assert_int_equal(check_chain(FORMAT_DEPTH_MAX + 2, &err), -EBADMSG);
	assert_string_equal(err.text, "damaged index: entry 4098");
}

TEST_OF(f, places_outside_the_pack_are_refused)
{
	static const struct damaged cases[] = {
		{"start[2]", 1ull << 40, -EBADMSG, "damaged index: entry 2"},
		{"start[2]", UINT64_MAX, -EBADMSG, "damaged index: entry 2"},
		{"size[2]", UINT16_MAX, -EBADMSG, "damaged index: entry 2"},
		{"start[3]", 1, -EBADMSG, "damaged index: entry 3"},
		{"size[3]", 2, -EBADMSG, "damaged index: entry 3"},
		{"size[3]", 0, -EBADMSG, "damaged index: entry 3"},
		{"start[4]", 1, -EBADMSG, "damaged index: entry 4"},
		{"start[4]", 4, -EBADMSG, "damaged index: entry 4"},
		{"start[4]", 8, -EBADMSG, "damaged index: entry 4"},
		{"size[4]", 1, -EBADMSG, "damaged index: entry 4"},
		{"kind[2]", FORMAT_SPLIT, -EBADMSG, "damaged index: entry 2"},
		{"size[7]", 1, -EBADMSG, "damaged index: 2 checksums for 3 extents"},
		{"size[6]", 0, -EBADMSG, "damaged index: 2 checksums for 1 extents"},
	};

	EXPECT_ALL_REFUSED(f, cases);
}

TEST_OF(f, a_bad_disk_is_noticed_by_checksums)
{
	static const char *const hot[] = {"names", "name-end", "parent",  "kind",
					  "start", "size",     "targets", "options"};
	char field[32], sentence[80];

	for (size_t i = 0; i < sizeof(hot) / sizeof(*hot); i++) {
		build_tree(f);
		snprintf(field, sizeof(field), "%s[0]", hot[i]);
		snprintf(sentence, sizeof(sentence),
			 "damaged index: checksum mismatch in section %s", hot[i]);
		damage_unsummed(f, field, 0x55);
		expect_refused(f, -EBADMSG, sentence);
	}
}

TEST_OF(f, damage_to_cold_sections_waits_for_their_use)
{
	struct dataset_attr attr;
	struct dataset_image image;
	SCOPE(buf_release) struct buf found = BUF_INIT;
	char bytes[100];

	build_tree(f);
	damage_unsummed(f, "mtime[3]", 1);
	damage_unsummed(f, "height[3]", 1);
	damage_unsummed(f, "sums[1]", 1);
	open_pack(f);
	assert_int_equal(dataset_attr(f->dataset, 1, &attr), -EBADMSG);
	assert_int_equal(dataset_attr(f->dataset, 1, &attr), -EBADMSG);
	assert_int_equal(dataset_image(f->dataset, 2, &image), -EBADMSG);
	assert_int_equal(dataset_read(f->dataset, 2, bytes, 100, 0), -EBADMSG);
	assert_done(dataset_check_sections(f->dataset, fault_append, &found));
	assert_string_equal(
		found.data,
		"foldfs.sums: index: damaged index: checksum mismatch in section sums\n"
		"foldfs.mtime: index: damaged index: checksum mismatch in section mtime\n"
		"foldfs.height: index: damaged index: checksum mismatch in section height\n");
}

TEST_OF(f, where_no_content_id_is_recorded_it_is_found_from_the_index)
{
	SCOPE(buf_release) struct buf found = BUF_INIT;
	char id[FORMAT_ID_TEXT];

	build_tree(f);
	damage(f, "super.compat", 0);
	damage(f, "super.content_id", 0x55);
	open_pack(f);
	assert_done(dataset_check_sections(f->dataset, fault_append, &found));
	assert_null(found.data);
	assert_done(dataset_content_id(f->dataset, id));
	assert_string_equal(id, f->summary.content_id);
	damage_unsummed(f, "sums[1]", 1);
	open_pack(f);
	assert_int_equal(dataset_content_id(f->dataset, id), -EBADMSG);
}

TEST_OF(f, loading_names_what_is_damaged_and_the_other_parts_are_loaded)
{
	struct dataset_attr attr;
	struct err err = {0};

	build_tree(f);
	damage_unsummed(f, "sums[1]", 1);
	open_pack(f);
	assert_int_equal(dataset_load(f->dataset, DATASET_ATTRS | DATASET_CHECKSUMS, &err),
			 -EBADMSG);
	assert_string_equal(err.text, "damaged index: checksum mismatch in section sums");
	assert_done(dataset_load(f->dataset, DATASET_ATTRS | DATASET_IMAGES, NULL));
	assert_done(dataset_attr(f->dataset, 1, &attr));
}

TEST_OF(f, a_record_at_another_place_is_found_by_checking_the_keys)
{
	build_tree(f);
	open_pack(f);
	damage(f, "start[2]", dataset_extent(f->dataset, 0).offset + 1);
	damage(f, "size[6]", 99);
	open_pack(f);
	expect_faults(f,
		      "a/x: wrong-size: its record has another size than the index says\n"
		      "b: wrong-place: its record lies elsewhere than the index says\n");
}

/* --- split files, in an index made by hand ------------------------------------------------------
 */

enum { PARTS = 17 };

static void init_section(struct index *index, enum format_section section, uint64_t count,
			 uint32_t width)
{
	struct index_section *s = &index->sections[section];

	assert_done(index_section_alloc(s, count, width));
	memset(s->data, 0, s->bytes);
}

static void make_split(struct index *index, unsigned files, uint64_t pack_bytes)
{
	static const struct {
		enum format_section section;
		uint32_t width;
	} columns[] = {{SECTION_NAME_END, 1},
		       {SECTION_PARENT, 1},
		       {SECTION_KIND, 1},
		       {SECTION_START, 8},
		       {SECTION_SIZE, 8}};

	*index = (struct index){.entries = files + 1};
	init_section(index, SECTION_NAMES, files, 0);
	init_section(index, SECTION_TARGETS, 0, 0);
	init_section(index, SECTION_PARTS, files * PARTS, 8);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		init_section(index, columns[i].section, files + 1, columns[i].width);
	index_put(index, SECTION_KIND, 0, FORMAT_DIRECTORY);
	index_put(index, SECTION_START, 0, 1);
	index_put(index, SECTION_SIZE, 0, files);
	for (unsigned file = 0; file < files; file++) {
		index->sections[SECTION_NAMES].data[file] = (uint8_t)('m' + file);
		index_put(index, SECTION_NAME_END, file + 1, file + 1);
		index_put(index, SECTION_KIND, file + 1, FORMAT_SPLIT);
		index_put(index, SECTION_START, file + 1, file * PARTS);
		index_put(index, SECTION_SIZE, file + 1, GIB + 5);
	}
	for (uint64_t i = 0; i < files * PARTS; i++)
		index_put(index, SECTION_PARTS, i, pack_bytes - 5 - i % PARTS * FORMAT_PART);
}

static int check_split(enum format_section section, uint64_t row, uint64_t value)
{
	SCOPE(index_release) struct index index;
	const uint64_t pack_bytes = 3 * GIB;

	make_split(&index, 1, pack_bytes);
	/* The last part is the shortest, and lies where only it fits. */
	index_put(&index, SECTION_PARTS, 0, 0);
	index_put(&index, SECTION_PARTS, PARTS - 1, pack_bytes - 5);
	index_put(&index, section, row, value);
	return index_check(&index, pack_bytes, NULL);
}

TEST_OF(f, parts_outside_the_pack_are_refused)
{
	assert_done(check_split(SECTION_KIND, 1, FORMAT_SPLIT));
	assert_int_equal(check_split(SECTION_PARTS, 16, 3 * GIB - 4), -EBADMSG);
	assert_int_equal(check_split(SECTION_PARTS, 0, 3 * GIB - 5), -EBADMSG);
	assert_int_equal(check_split(SECTION_PARTS, 7, UINT64_MAX), -EBADMSG);
	assert_int_equal(check_split(SECTION_START, 1, 1), -EBADMSG);
	assert_int_equal(check_split(SECTION_START, 1, UINT64_MAX), -EBADMSG);
	assert_int_equal(check_split(SECTION_SIZE, 1, GIB), -EBADMSG);
	assert_int_equal(check_split(SECTION_SIZE, 1, GIB + FORMAT_PART + 1), -EBADMSG);
	assert_int_equal(check_split(SECTION_SIZE, 1, 4 * GIB), -EBADMSG);
}

static void make_several(struct index *index)
{
	const uint64_t pack_bytes = 3 * GIB;

	make_split(index, 3, pack_bytes);
	for (unsigned file = 0; file < 3; file++) {
		index_put(index, SECTION_PARTS, file * PARTS, 0);
		index_put(index, SECTION_PARTS, file * PARTS + PARTS - 1, pack_bytes - 5);
	}
}

TEST_OF(f, split_files_have_their_parts_one_after_the_other)
{
	SCOPE(index_release) struct index index, gap;
	uint64_t number;

	make_several(&index);
	assert_done(index_check(&index, 3 * GIB, NULL));
	assert_int_equal(index.extents, 3 * 1025);
	assert_int_equal(index_first_extent(&index, 3), 2 * 1025);
	assert_int_equal(index_extent_entry(&index, 2 * 1025 + 1024, &number), 3);
	assert_int_equal(number, 1024);
	index_forget_offsets(&index);
	assert_int_equal(index_get(&index, SECTION_START, 3), 2 * PARTS);
	assert_int_equal(index_get(&index, SECTION_PARTS, 3 * PARTS - 1), 0);

	make_several(&gap);
	index_put(&gap, SECTION_START, 3, PARTS);
	assert_int_equal(index_check(&gap, 3 * GIB, NULL), -EBADMSG);
}

TEST_OF(f, a_file_of_1_gib_is_one_piece)
{
	for (uint64_t more = 0; more < 2; more++) {
		SCOPE(index_release) struct index index;

		make_split(&index, 1, 3 * GIB);
		index_put(&index, SECTION_KIND, 1, FORMAT_FILE);
		index_put(&index, SECTION_SIZE, 1, GIB + more);
		assert_int_equal(index_check(&index, 3 * GIB, NULL), more ? -EBADMSG : 0);
	}
}

TEST_OF(f, widths_are_the_narrowest)
{
	assert_int_equal(index_width(0), 1);
	assert_int_equal(index_width(255), 1);
	assert_int_equal(index_width(256), 2);
	assert_int_equal(index_width(65535), 2);
	assert_int_equal(index_width(65536), 4);
	assert_int_equal(index_width(UINT32_MAX), 4);
	assert_int_equal(index_width(1ull << 32), 8);
}

/* --- files that are no packs --------------------------------------------------------------------
 */

TEST_OF(f, files_that_are_no_lmdb_are_named_so)
{
	int fd;

	expect_refused(f, -ENOENT, "No such file or directory");
	assert_done(mkdir(f->path, 0755));
	expect_refused(f, -EISDIR, "a folder, not a pack");
	assert_done(rmdir(f->path));
	assert_done(mkfifo(f->path, 0644));
	expect_refused(f, -EINVAL, "not a regular file");
	assert_done(unlink(f->path));
	fd = open(f->path, O_WRONLY | O_CREAT, 0644);
	assert_true(fd >= 0);
	expect_refused(f, -EINVAL, "not an LMDB file");
	assert_done(ftruncate(fd, 100000));
	close(fd);
	expect_refused(f, -EINVAL, "not an LMDB file");
}

TEST_OF(f, an_lmdb_that_is_no_pack_is_named_so)
{
	struct lmdb lmdb;

	lmdb_begin(&lmdb, f->path, true);
	lmdb_end(&lmdb);
	expect_refused(f, -ENOMSG, "an LMDB file, but not a foldfs pack");
	lmdb_put(f->path, "n01440764/x.JPEG", 16, "abc");
	expect_refused(f, -ENOMSG, "an LMDB file, but not a foldfs pack");
}

/* --- keys that liblmdb would not write ----------------------------------------------------------
 */

/* A file "a" of 700 slashes becomes, by its node's key length, the key "a/////...": longer than
 * any path may be as a key, and it begins like one. */
TEST_OF(f, a_key_longer_than_lmdb_allows_is_no_path)
{
	static char bytes[64 * KIB];
	char slashes[700], *node;
	ssize_t size;
	int fd;

	memset(slashes, '/', sizeof(slashes));
	add_file(f, PACK_ROOT, "a", sizeof(slashes));
	finish(f);
	assert_done(chmod(f->path, 0644));
	fd = open(f->path, O_RDWR);
	size = io_pread(fd, bytes, sizeof(bytes), 0);
	assert_true(size > 0);
	pattern_bytes(pattern_seed("a", 1), 0, slashes, sizeof(slashes));
	node = memmem(bytes, (size_t)size, slashes, sizeof(slashes));
	assert_non_null(node);
	assert_int_equal(node[-1], 'a');
	memset(node, '/', sizeof(slashes));
	put_le((uint8_t *)node - 9, 4, 0);
	put_le((uint8_t *)node - 3, 2, 1 + sizeof(slashes));
	assert_done(io_pwrite_full(fd, bytes, (size_t)size, 0));
	close(fd);
	open_pack(f);
	memset(bytes, '/', sizeof(bytes));
	memcpy(bytes, "a: no-record: has no record\na", 29);
	strcpy(bytes + 29 + sizeof(slashes),
	       ": unknown-record: a record that the index does not know\n");
	expect_faults(f, bytes);
}
