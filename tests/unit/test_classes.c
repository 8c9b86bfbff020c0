/* Which classes a dataset has: pack/tool/read/summary.h. */
#include "pack/tool/read/summary.h"

#include "pack_fixture.h"
#include "tests/unit/test.h"

/* Files of 10 bytes, by their paths. */
static void make(struct fixture *f, const char *paths)
{
	char line[72];
	int len;

	for (; sscanf(paths, "%63s%n", line, &len) == 1; paths += len) {
		strcat(line, " 10");
		add_lines(f, line);
	}
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

FIXTURE(f, struct fixture, fixture_setup, end_classes);

#define SPLITS "train/a/1.jpg train/b/1.jpg val/a/1.jpg "

static const struct {
	const char *paths;
	const char *expected; /* the files of each class of each split */
} rows[] = {
	{"cat/1.jpg cat/2.txt dog/1.png README", ": cat 2, dog 1"},
	{SPLITS "train/a/2.jpg val/c/1.jpg labels.txt", "train: a 2, b 1; val: a 1, c 1"},
	{"one/a/1.jpg two/b/c/1.jpg", "one: a 1; two: b 1"},
	/* What is next to splits, and is none of their classes. */
	{SPLITS "annotations/instances.json", "train: a 1, b 1; val: a 1"},
	{SPLITS "__MACOSX/train/._a.jpg", "train: a 1, b 1; val: a 1"},
	{SPLITS ".git/config", "train: a 1, b 1; val: a 1"},
	{SPLITS "val/list.txt", "train: a 1, b 1; val: a 1"},
	{SPLITS "train/.DS_Store", "train: a 1, b 1; val: a 1"},
	{SPLITS "test/1.jpg", "train: a 1, b 1; val: a 1"},
	/* Folders with images of their own are classes. */
	{"test/a/1.jpg test/1.jpg valley/a/1.jpg cat/1.jpg", ": cat 1, test 2, valley 1"},
};

TEST_OF(f, folders_at_the_top_are_classes_or_splits)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		SCOPE(buf_release) struct buf said = BUF_INIT;

		make(f, rows[i].paths);
		classes_of(f);
		for (uint32_t k = 0; k < classes.split_count; k++) {
			const struct class_split *split = &classes.splits[k];
			uint64_t files = 0;

			buf_addf(&said, "%s%.*s:", k ? "; " : "", (int)split->name_len,
				 split->name);
			for (uint32_t n = split->first; n < split->first + split->count; n++) {
				const struct class *class = &classes.list[n];

				assert_int_equal(class->split, k);
				assert_int_equal(class->bytes, 10 * class->files);
				files += class->files;
				buf_addf(&said, "%s %.*s %lu", n == split->first ? "" : ",",
					 (int)class->name_len, class->name, class->files);
			}
			assert_int_equal(split->files, files);
			assert_int_equal(split->bytes, 10 * files);
		}
		assert_int_equal(classes.split, said.data[0] != ':');
		assert_string_equal(said.data, rows[i].expected);
	}
}

TEST_OF(f, everything_below_counts_and_links_are_files)
{
	add_lines(f,
		  "cat/deep/er/1.jpg 10\ndog/link.jpg -> ../cat/deep/er/1.jpg\n"
		  "dog/first.jpg 1000\ndog/same.jpg => dog/first.jpg");
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
