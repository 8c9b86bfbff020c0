/* Which classes a dataset has: pack/tool/read/summary.h. */
#include "pack/tool/read/summary.h"

#include "pack_fixture.h"
#include "tests/unit/test.h"

/* Files of 10 bytes, by their paths. */
static void make(struct fixture *f, const char *paths)
{
	char path[64];
	int len;

	for (; sscanf(paths, "%63s%n", path, &len) == 1; paths += len)
		add_path(f, path, 10);
}

static struct classes classes;

static void forget_classes(void)
{
	classes_release(&classes);
	classes = (struct classes){0};
}

static void end_classes(struct fixture *f)
{
	forget_classes();
	fixture_teardown(f);
}

static void classes_of(struct fixture *f)
{
	forget_classes();
	finish_and_open(f);
	assert_done(classes_new(f->dataset, &classes));
}

static void expect_name(const char *name, size_t len, const char *expected)
{
	assert_int_equal(len, strlen(expected));
	assert_memory_equal(name, expected, len);
}

FIXTURE(f, struct fixture, fixture_setup, end_classes);

TEST_OF(f, folders_at_the_top_are_classes)
{
	make(f, "cat/1.jpg cat/2.txt dog/1.png README");
	classes_of(f);
	assert_false(classes.split);
	assert_int_equal(classes.split_count, 1);
	assert_int_equal(classes.splits[0].files, 3);
	assert_int_equal(classes.splits[0].bytes, 30);
	assert_int_equal(classes.count, 2);
	expect_name(classes.list[0].name, classes.list[0].name_len, "cat");
	assert_int_equal(classes.list[0].files, 2);
	assert_int_equal(classes.of[find(f, "README")], 0);
	assert_int_equal(classes.of[find(f, "dog/1.png")], 2);
}

TEST_OF(f, folders_of_nothing_but_folders_are_splits)
{
	make(f, "train/b/1.jpg train/a/1.jpg train/a/2.jpg val/a/1.jpg val/c/1.jpg labels.txt");
	classes_of(f);
	assert_true(classes.split);
	assert_int_equal(classes.split_count, 2);
	expect_name(classes.splits[1].name, classes.splits[1].name_len, "val");
	assert_int_equal(classes.splits[1].first, 2);
	assert_int_equal(classes.splits[1].count, 2);
	assert_int_equal(classes.splits[0].files, 3);
	assert_int_equal(classes.list[2].split, 1);
}

/* Each dataset has the splits train and val, whatever else lies about. */
TEST_OF(f, stray_files_and_folders_beside_splits_are_no_classes)
{
	static const char *const strays[] = {"annotations/instances.json",
					     "__MACOSX/train/._a.jpg",
					     ".git/config",
					     "val/list.txt",
					     "train/.DS_Store",
					     "test/1.jpg"};

	for (size_t i = 0; i < sizeof(strays) / sizeof(*strays); i++) {
		make(f, "train/a/1.jpg train/b/1.jpg val/a/1.jpg");
		make(f, strays[i]);
		classes_of(f);
		assert_true(classes.split);
		assert_int_equal(classes.split_count, 2);
		expect_name(classes.splits[0].name, classes.splits[0].name_len, "train");
		assert_int_equal(classes.splits[0].count, 2);
		expect_name(classes.splits[1].name, classes.splits[1].name_len, "val");
		assert_int_equal(classes.of[find(f, strays[i])], 0);
	}
}

TEST_OF(f, folders_with_images_of_their_own_are_classes)
{
	make(f, "test/a/1.jpg test/1.jpg valley/a/1.jpg cat/1.jpg");
	classes_of(f);
	assert_false(classes.split);
	assert_int_equal(classes.count, 3);
	assert_int_equal(classes.list[1].files, 2);
}

TEST_OF(f, everything_below_counts_and_links_are_files)
{
	const char *name;
	uint32_t cat;

	make(f, "cat/deep/er/1.jpg");
	cat = folder_of(f, "dog/", &name);
	add_symlink(f, cat, "link.jpg", "../cat/deep/er/1.jpg");
	add_link(f, cat, "same.jpg", add_file(f, cat, "first.jpg", 1000));
	classes_of(f);
	assert_int_equal(classes.list[0].files, 1);
	assert_int_equal(classes.list[1].files, 3);
	assert_int_equal(classes.list[1].bytes, 2000);
}

TEST_OF(f, imbalance_is_that_of_the_classes_with_files)
{
	struct class_sizes sizes;

	make(f, "a/1 b/1 b/2 c/1 c/2 c/3 c/4");
	add_dir(f, PACK_ROOT, "nothing");
	classes_of(f);
	assert_done(classes_sizes(&classes, &classes.splits[0], &sizes));
	assert_int_equal(sizes.filled, 3);
	assert_int_equal(sizes.empty, 1);
	assert_int_equal(sizes.files.min, 1);
	assert_int_equal(sizes.files.median, 2);
	assert_int_equal(sizes.files.max, 4);
	assert_true(sizes.imbalance == 4);
}

TEST_OF(f, an_empty_dataset_has_no_class)
{
	struct class_sizes sizes;

	classes_of(f);
	assert_int_equal(classes.count, 0);
	assert_done(classes_sizes(&classes, &classes.splits[0], &sizes));
	assert_int_equal(sizes.filled, 0);
	assert_true(sizes.imbalance == 0);
}

TEST(imagefolder_goes_by_the_suffix)
{
	assert_true(classes_takes("a.JPEG", 6));
	assert_true(classes_takes("a.b.webp", 8));
	assert_true(classes_takes(".jpg", 4));
	assert_false(classes_takes("jpg", 3));
	assert_false(classes_takes("a.gif", 5));
	assert_false(classes_takes("a.jpg.bak", 9));
	assert_false(classes_takes("a.jpgx", 6));
}
