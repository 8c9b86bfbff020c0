/* Several packs as one tree: pack/dataset_merge.h, and what it is made of. */
#include "pack/dataset_internal.h"
#include "pack/dataset_merge.h"
#include "pack_fixture.h"
#include "tests/unit/test.h"
#include <inttypes.h>

#define PACKS_MOST 16

/* The packs of a test, and what they are together: the fixture's dataset. */
struct union_fixture {
	struct fixture f;
	struct dataset_pack packs[PACKS_MOST];
	char paths[PACKS_MOST][96];
	char names[PACKS_MOST][2];
	unsigned count;
	const char *select[8];
};

static void setup(struct union_fixture *u)
{
	scratch_make(u->f.dir);
}

static void close_packs(struct union_fixture *u)
{
	dataset_free(u->f.dataset);
	u->f.dataset = NULL;
	for (unsigned i = 0; i < u->count; i++)
		dataset_free(u->packs[i].dataset);
	u->count = 0;
}

static void teardown(struct union_fixture *u)
{
	close_packs(u);
	fixture_teardown(&u->f);
}

/* A pack of these entries goes below a folder ("": the root). */
static void pack_below(struct union_fixture *u, const char *below, const char *text)
{
	unsigned i = u->count;

	assert_true(i < PACKS_MOST);
	snprintf(u->f.path, sizeof(u->f.path), "%s/%u.lmdb", u->f.dir, i);
	strcpy(u->paths[i], u->f.path);
	u->names[i][0] = (char)('A' + i);
	add_lines(&u->f, text);
	finish(&u->f);
	dataset_free(u->packs[i].dataset);
	u->packs[i] = (struct dataset_pack){.name = u->names[i], .below = below};
	u->count++;
}

static void pack(struct union_fixture *u, const char *text)
{
	pack_below(u, "", text);
}

/* --- merging ---------------------------------------------------------------------------------- */

static void open_packs(struct union_fixture *u)
{
	for (unsigned i = 0; i < u->count; i++) {
		dataset_free(u->packs[i].dataset);
		u->packs[i].dataset = NULL;
		assert_done(dataset_open(u->paths[i], &u->packs[i].dataset, &u->f.err));
	}
}

static int try_merge(struct union_fixture *u)
{
	struct dataset_merge_params params = {
		.packs = u->packs, .count = u->count, .select = u->select};
	int r;

	while (u->select[params.select_count])
		params.select_count++;
	dataset_free(u->f.dataset);
	u->f.dataset = NULL;
	open_packs(u);
	u->f.err.text[0] = '\0';
	r = dataset_merge_check(u->packs, u->count, &u->f.err);
	if (r == 0)
		r = dataset_merge(&params, &u->f.dataset, &u->f.err);
	for (unsigned i = 0; r == 0 && i < u->count; i++)
		u->packs[i].dataset = NULL;
	return r;
}

static void merge(struct union_fixture *u)
{
	int r = try_merge(u);

	if (r < 0)
		fail_msg("merge: %s", err_text(&u->f.err, r));
}

static void expect_no_merge(struct union_fixture *u, int error, const char *sentence)
{
	assert_int_equal(try_merge(u), error);
	assert_string_equal(u->f.err.text, sentence);
}

/* --- what a dataset shows --------------------------------------------------------------------- */

static void show_path(struct dataset *dataset, uint32_t entry, struct buf *out)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	uint32_t found;

	assert_done(dataset_path(dataset, entry, &path));
	assert_done(dataset_find(dataset, path.data, path.len, &found));
	assert_int_equal(found, entry);
	assert_done(buf_adds(out, path.len ? path.data : "."));
}

/* Everything but times; file bytes, which are checked too. */
static void expect_same_entry(struct dataset *one, struct dataset *other, uint32_t number)
{
	const struct dataset_entry a = dataset_entry(one, number), b = dataset_entry(other, number);
	SCOPE_FREE char *x = malloc(a.size + 1), *y = malloc(a.size + 1);
	SCOPE(buf_release) struct buf path_a = BUF_INIT, path_b = BUF_INIT;
	struct dataset_image image_a, image_b;
	struct dataset_attr attr_a, attr_b;

	assert_done(dataset_attr(one, number, &attr_a));
	assert_done(dataset_attr(other, number, &attr_b));
	assert_done(dataset_image(one, number, &image_a));
	assert_done(dataset_image(other, number, &image_b));
	assert_true(a.kind == b.kind && a.size == b.size);
	assert_true(a.first_child == b.first_child && a.children == b.children);
	assert_true(a.inode == b.inode && a.holder == b.holder);
	assert_true(attr_a.mode == attr_b.mode && attr_a.nlink == attr_b.nlink);
	assert_int_equal(image_a.width, image_b.width);
	show_path(one, number, &path_a);
	show_path(other, number, &path_b);
	assert_string_equal(path_a.data, path_b.data);
	if (a.kind == FORMAT_DIRECTORY || a.kind == FORMAT_SYMLINK)
		return;
	assert_int_equal(dataset_read(one, number, x, a.size, 0), a.size);
	assert_int_equal(dataset_read(other, number, y, a.size, 0), a.size);
	assert_memory_equal(x, y, a.size);
}

static void expect_same_extent(struct dataset *one, struct dataset *other, uint64_t number)
{
	const struct dataset_extent a = dataset_extent(one, number);
	const struct dataset_extent b = dataset_extent(other, number);

	assert_true(a.entry == b.entry && a.from == b.from && a.size == b.size);
	assert_true(a.file == b.file && a.file_end == b.file_end);
}

/* The merged packs are what one pack of these entries would be. */
static void expect_tree(struct union_fixture *u, const char *text)
{
	struct dataset *one = NULL, *merged = u->f.dataset;
	char ids[2][FORMAT_ID_TEXT];

	snprintf(u->f.path, sizeof(u->f.path), "%s/one.lmdb", u->f.dir);
	add_lines(&u->f, text);
	finish(&u->f);
	assert_done(dataset_open(u->f.path, &one, NULL));
	assert_done(dataset_content_id(one, ids[0]));
	assert_done(dataset_content_id(merged, ids[1]));
	assert_string_equal(ids[0], ids[1]);
	assert_memory_equal(&dataset_info(one)->super->entries,
			    &dataset_info(merged)->super->entries, 6 * sizeof(uint64_t));
	for (uint32_t i = 0; i < dataset_entries(one); i++)
		expect_same_entry(one, merged, i);
	assert_int_equal(dataset_extents(one), dataset_extents(merged));
	for (uint64_t i = 0; i < dataset_extents(one); i++)
		expect_same_extent(one, merged, i);
	dataset_free(one);
}

/* The paths of all entries, but the root. */
static void expect_paths(struct union_fixture *u, const char *paths)
{
	SCOPE(buf_release) struct buf have = BUF_INIT;

	for (uint32_t i = 1; i < dataset_entries(u->f.dataset); i++) {
		if (i > 1)
			assert_done(buf_adds(&have, " "));
		show_path(u->f.dataset, i, &have);
	}
	assert_string_equal(have.data ? have.data : "", paths);
}

FIXTURE(u, struct union_fixture, setup, teardown);

/* --- one tree --------------------------------------------------------------------------------- */

TEST_OF(u, packs_are_the_tree_that_one_pack_of_their_files_would_be)
{
	pack(u, "b/x 100\nb/deep/z 5\nroot 7\nempty/\nlast 0\n");
	pack(u, "a/x 200\nb/y 3000000\nb/deep/a 5\nb.txt 9\n");
	pack(u, "a/w 1\nc/l -> ../a/x\nc/m -> ../a/y\nb/deep/m 50000\nA 2\n");
	merge(u);
	expect_tree(u,
		    "A 2\nb.txt 9\nroot 7\nlast 0\nempty/\na/w 1\na/x 200\nb/x 100\n"
		    "b/y 3000000\nb/deep/a 5\nb/deep/m 50000\nb/deep/z 5\nc/l -> ../a/x\n"
		    "c/m -> ../a/y\n");
	expect_paths(u,
		     "A a b b.txt c empty last root a/w a/x b/deep b/x b/y b/deep/a b/deep/m "
		     "b/deep/z c/l c/m");
}

TEST_OF(u, one_pack_is_itself)
{
	static const char text[] = "a/x 100\na/h => a/x\na/s == a/x\nb/l -> x\nc/d/e/f 5\n";

	pack(u, text);
	merge(u);
	expect_tree(u, text);
}

TEST_OF(u, links_and_aliases_stay_within_their_packs)
{
	pack(u, "a/x 100\nz/h => a/x\nb/s == a/x\n");
	pack(u, "a/y 300\na/b => a/y\nc/s == a/y\nc/t => c/s\n");
	merge(u);
	expect_tree(u,
		    "a/x 100\nz/h => a/x\nb/s == a/x\na/y 300\na/b => a/y\nc/s == a/y\n"
		    "c/t => c/s\n");
}

TEST_OF(u, a_pack_may_go_below_a_folder)
{
	pack_below(u, "train", "cat/x 5\n");
	pack_below(u, "sets/val", "cat/x 6\ndog/y 7\n");
	pack(u, "train/dog/z 8\nREADME 9\n");
	merge(u);
	expect_tree(u,
		    "train/cat/x 5\nsets/val/cat/x 6\nsets/val/dog/y 7\ntrain/dog/z 8\n"
		    "README 9\n");
}

TEST_OF(u, a_pack_that_was_rewritten_is_read_at_its_new_offsets)
{
	char command[400];

	if (system("command -v mdb_copy >/dev/null") != 0)
		skip();
	pack(u, "a/x 100\na/y 200\n");
	pack(u, "a/z 300\nb/w 5000\n");
	snprintf(command, sizeof(command), "mdb_copy -c -n %s %s/copy && mv -f %s/copy %s",
		 u->paths[1], u->f.dir, u->f.dir, u->paths[1]);
	assert_int_equal(system(command), 0);
	merge(u);
	expect_tree(u, "a/x 100\na/y 200\na/z 300\nb/w 5000\n");
}

/* --- the same path twice ---------------------------------------------------------------------- */

TEST_OF(u, equal_files_are_one)
{
	pack(u, "a/x 100\na/l -> x\nLICENSE 3000000\nempty 0\n");
	pack(u, "b/x 200\na/l -> x\nLICENSE 3000000\nempty 0\n");
	merge(u);
	expect_tree(u, "a/x 100\na/l -> x\nLICENSE 3000000\nb/x 200\nempty 0\n");
}

TEST_OF(u, other_files_of_one_path_are_refused)
{
	pack(u, "a/x 100\n");
	pack(u, "a/y 100\n");
	pack(u, "a/x 100 other\n");
	expect_no_merge(u, -EEXIST,
			"'a/x' is another file in A and in C; "
			"'NAME/=' in front of one puts it into a folder of its own");
	pack(u, "a/y 101\nb 5\n");
	expect_no_merge(u, -EEXIST,
			"'a/x' is another file in A and in C, and 1 more paths are in two packs; "
			"'NAME/=' in front of one puts it into a folder of its own");
}

TEST_OF(u, other_links_of_one_path_are_refused)
{
	pack(u, "a/l -> x\n");
	pack(u, "a/l -> y\n");
	expect_no_merge(u, -EEXIST,
			"'a/l' is another file in A and in B; "
			"'NAME/=' in front of one puts it into a folder of its own");
	u->count--;
	pack(u, "a/l 1\n");
	expect_no_merge(u, -EEXIST,
			"'a/l' is another file in A and in B; "
			"'NAME/=' in front of one puts it into a folder of its own");
}

TEST_OF(u, a_file_and_a_folder_are_refused)
{
	pack(u, "a/x 100\n");
	pack(u, "a 5\n");
	expect_no_merge(u, -EEXIST,
			"'a' is a folder and a file in A and in B; 'NAME/=' in front of one puts "
			"it into a folder of its own");
}

TEST_OF(u, the_same_pack_twice_is_refused)
{
	pack(u, "a/x 100\n");
	pack(u, "a/y 100\n");
	pack(u, "a/x 100\n");
	expect_no_merge(u, -EEXIST, "A and C are the same pack: leave one out");
	u->packs[2].below = "copy";
	merge(u);
	expect_tree(u, "a/x 100\na/y 100\ncopy/a/x 100\n");
}

TEST_OF(u, packs_without_files_are_no_copies_of_each_other)
{
	pack(u, "a/\n");
	pack(u, "a/x 1\n");
	pack(u, "a/\n");
	merge(u);
	expect_tree(u, "a/x 1\n");
}

/* --- folders, ids, changes, damage ------------------------------------------------------------ */

TEST_OF(u, folders_have_the_mode_of_the_first_pack)
{
	struct dataset_attr attr;

	pack(u, "a/x 1\n");
	pack(u, "a/y 1\n");
	strcpy(u->f.path, u->paths[1]);
	damage(&u->f, "mode[1]", 0700);
	merge(u);
	assert_done(dataset_attr(u->f.dataset, find(&u->f, "a"), &attr));
	assert_int_equal(attr.mode, 0755);
	strcpy(u->f.path, u->paths[0]);
	damage(&u->f, "mode[1]", 0750);
	merge(u);
	assert_done(dataset_attr(u->f.dataset, find(&u->f, "a"), &attr));
	assert_int_equal(attr.mode, 0750);
}

TEST_OF(u, the_id_follows_from_the_packs_and_from_what_was_asked_of_them)
{
	char ids[4][33];

	pack(u, "a/x 1\n");
	pack(u, "a/y 1\n");
	for (unsigned i = 0; i < 4; i++) {
		struct dataset_pack first = u->packs[0];
		char path[96];

		if (i == 1)
			u->packs[0].below = "b";
		if (i == 2)
			u->select[0] = "a";
		if (i == 3) {
			u->packs[0] = u->packs[1];
			u->packs[1] = first;
			strcpy(path, u->paths[0]);
			strcpy(u->paths[0], u->paths[1]);
			strcpy(u->paths[1], path);
		}
		merge(u);
		strcpy(ids[i], dataset_info(u->f.dataset)->id);
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(ids[i], ids[j]);
		merge(u);
		assert_string_equal(dataset_info(u->f.dataset)->id, ids[i]);
	}
}

TEST_OF(u, only_the_files_of_a_pack_that_was_written_to_are_stale)
{
	uint64_t x, y;

	pack(u, "x 1\n");
	pack(u, "y 1\n");
	merge(u);
	assert_done(dataset_load(u->f.dataset, DATASET_CHECKSUMS, &u->f.err));
	x = dataset_first_extent(u->f.dataset, find(&u->f, "x"));
	y = dataset_first_extent(u->f.dataset, find(&u->f, "y"));
	assert_string_equal(dataset_pack_name(u->f.dataset, x), "A");
	assert_string_equal(dataset_pack_name(u->f.dataset, y), "B");
	assert_done(chmod(u->paths[1], 0644));
	assert_done(truncate(u->paths[1], 100));
	assert_done(dataset_unchanged(u->f.dataset, x));
	assert_int_equal(dataset_unchanged(u->f.dataset, y), -ESTALE);
	expect_file(&u->f, "x", 1);
}

TEST_OF(u, damage_is_said_to_be_of_its_pack)
{
	pack(u, "x 1\nboth 1\n");
	pack(u, "y 1\nboth 1\n");
	strcpy(u->f.path, u->paths[1]);
	damage_unsummed(&u->f, "mode[1]", 0);
	merge(u);
	assert_int_equal(dataset_load(u->f.dataset, DATASET_ATTRS, &u->f.err), -EBADMSG);
	assert_string_equal(u->f.err.text, "B: damaged index: checksum mismatch in section mode");
	assert_done(dataset_load(u->f.dataset, DATASET_IMAGES | DATASET_CHECKSUMS, &u->f.err));
	damage_unsummed(&u->f, "sums[0]", 0);
	expect_no_merge(u, -EBADMSG, "B: damaged index: checksum mismatch in section sums");
}

/* Packs whose reader has been told, and has been asked. */
static unsigned told, asked;
static const struct reader_ops *true_ops;

static void note_will_get(struct reader *reader, uint64_t offset, size_t len)
{
	(void)reader, (void)offset, (void)len;
	assert_int_equal(asked, 0);
	told++;
}

static ssize_t note_get(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	asked++;
	return true_ops->get(reader, buf, len, offset);
}

/* Of packs on a server each would be a round trip. */
TEST_OF(u, a_section_of_all_packs_is_asked_for_at_once)
{
	struct reader_ops noting;

	for (unsigned i = 0; i < PACKS_MOST; i++) {
		char text[16];

		snprintf(text, sizeof(text), "%u 1\n", i);
		pack(u, text);
	}
	merge(u);
	for (unsigned i = 0; i < PACKS_MOST; i++) {
		struct reader *reader = dataset_reader(dataset_file_of(u->f.dataset, i));

		true_ops = reader->ops;
		noting = *reader->ops;
		noting.will_get = note_will_get;
		noting.get = note_get;
		reader->ops = &noting;
	}
	told = asked = 0;
	assert_done(dataset_load(u->f.dataset, DATASET_CHECKSUMS, &u->f.err));
	assert_int_equal(told, PACKS_MOST);
	assert_int_equal(asked, PACKS_MOST);
	dataset_free(u->f.dataset);
	u->f.dataset = NULL;
}

/* --- what is selected ------------------------------------------------------------------------- */

static void pack_classes(struct union_fixture *u)
{
	pack(u, "train/cat/1.jpg 1\ntrain/cat/2.png 2\ntrain/dog/1.jpg 3\nval/cat/9.jpg 4\n");
	pack(u, "train/cat/3.jpg 5\ntrain/fox/1.jpg 6\ntrain/empty/\nval/dog/8.jpg 7\nREADME 8\n");
}

static void expect_selected(struct union_fixture *u, const char *a, const char *b,
			    const char *paths)
{
	u->select[0] = a;
	u->select[1] = b;
	merge(u);
	expect_paths(u, paths);
}

TEST_OF(u, folders_are_selected_with_all_that_is_in_them)
{
	pack_classes(u);
	expect_selected(u, "train/cat", NULL,
			"train train/cat train/cat/1.jpg train/cat/2.png train/cat/3.jpg");
	expect_selected(u, "cat/", NULL,
			"train val train/cat train/cat/1.jpg train/cat/2.png train/cat/3.jpg "
			"val/cat val/cat/9.jpg");
	expect_selected(u, "train/empty", "/README", "README train train/empty");
}

TEST_OF(u, files_are_selected_by_paths_and_by_patterns)
{
	pack_classes(u);
	expect_selected(u, "train/dog/1.jpg", "8.jpg",
			"train val train/dog train/dog/1.jpg val/dog val/dog/8.jpg");
	expect_selected(u, "*.png", "val/**",
			"train val train/cat train/cat/2.png val/cat val/dog val/cat/9.jpg "
			"val/dog/8.jpg");
	expect_selected(u, "train/[df]o?", NULL,
			"train train/dog train/fox train/dog/1.jpg train/fox/1.jpg");
}

TEST_OF(u, a_name_with_special_characters_is_found_as_it_is_written)
{
	pack(u, "a/x[1].jpg 5\na/x1.jpg 6\n");
	expect_selected(u, "a/x[1].jpg", NULL, "a a/x1.jpg a/x[1].jpg");
}

TEST_OF(u, what_is_selected_has_its_bytes_and_links)
{
	pack(u, "a/x 100\nb/h => a/x\nb/i => a/x\n");
	pack(u, "b/y 3000000\na/s -> x\n");
	u->select[0] = "b";
	merge(u);
	expect_tree(u, "b/h 100 x\nb/i => b/h\nb/y 3000000\n");
}

TEST_OF(u, what_matches_nothing_is_refused)
{
	pack_classes(u);
	u->select[0] = "train/cat";
	u->select[1] = "train/cow";
	expect_no_merge(u, -ENOENT, "'--select': nothing matches 'train/cow'");
	u->select[2] = "*.gif";
	expect_no_merge(u, -ENOENT,
			"'--select': nothing matches 'train/cow', and nothing matches 1 more");
}

TEST_OF(u, a_pattern_within_another_ones_folder_is_used)
{
	pack_classes(u);
	expect_selected(u, "train/dog", "train/dog/*.jpg", "train train/dog train/dog/1.jpg");
}
