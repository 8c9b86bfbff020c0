/* Which images have the same bytes: pack/tool/report/duplicates.h. */
#include "base/bits.h"
#include "pack/tool/report/duplicates.h"
#include "pack_fixture.h"
#include "tests/unit/test.h"

static struct classes classes;
static struct duplicates duplicates;

static void let_go_of_both(struct fixture *f)
{
	duplicates_release(&duplicates);
	classes_release(&classes);
	duplicates = (struct duplicates){0};
	classes = (struct classes){0};
	fixture_teardown(f);
}

/* A file whose bytes are those that its content's name stands for. */
static uint32_t add_content(struct fixture *f, const char *path, const char *content, uint64_t size)
{
	const char *name;
	uint32_t parent = folder_of(f, path, &name);
	uint32_t id = add_name(f, parent, name);

	store(f, id, content, size);
	return id;
}

static void find_all(struct fixture *f)
{
	SCOPE_FREE uint32_t *files = NULL;
	uint32_t count = 0;
	struct dataset_entry entry;

	finish_and_open(f);
	files = calloc(dataset_entries(f->dataset), sizeof(*files));
	assert_non_null(files);
	for (uint32_t number = 0; number < dataset_entries(f->dataset); number++) {
		entry = dataset_entry(f->dataset, number);
		if (entry.kind == FORMAT_FILE || entry.kind == FORMAT_HARDLINK)
			files[count++] = number;
	}
	assert_done(classes_new(f->dataset, &classes));
	assert_done(duplicates_new(f->dataset, &classes, files, count, &duplicates));
}

static void expect_group(struct fixture *f, uint64_t number, enum duplicate_reach reach,
			 const char *const *paths)
{
	const struct duplicate_group *group = &duplicates.groups[number];

	assert_true(number < duplicates.group_count);
	assert_int_equal(group->reach, reach);
	for (uint32_t i = 0; i < group->count; i++)
		assert_int_equal(duplicates.files[group->first + i].entry, find(f, paths[i]));
	assert_null(paths[group->count]);
}

FIXTURE(f, struct fixture, fixture_setup, let_go_of_both);

TEST_OF(f, copies_are_found_and_the_worst_come_first)
{
	add_content(f, "train/cat/1", "one", 100);
	add_content(f, "train/cat/2", "redundant", 200);
	add_content(f, "train/cat/3", "redundant", 200);
	add_content(f, "train/cat/4", "doubtful", 300);
	add_content(f, "train/dog/4", "doubtful", 300);
	add_content(f, "train/dog/5", "leaked", 400);
	add_content(f, "val/dog/a", "leaked", 400);
	add_content(f, "val/dog/b", "leaked", 400);
	find_all(f);
	assert_int_equal(duplicates.group_count, 3);
	expect_group(f, 0, DUPLICATE_SPLITS,
		     (const char *[]){"train/dog/5", "val/dog/a", "val/dog/b", NULL});
	expect_group(f, 1, DUPLICATE_CLASSES, (const char *[]){"train/cat/4", "train/dog/4", NULL});
	expect_group(f, 2, DUPLICATE_CLASS, (const char *[]){"train/cat/2", "train/cat/3", NULL});
	assert_int_equal(duplicates.totals[DUPLICATE_SPLITS].groups, 1);
	assert_int_equal(duplicates.totals[DUPLICATE_SPLITS].files, 3);
	assert_int_equal(duplicates.totals[DUPLICATE_SPLITS].bytes, 800);
	assert_int_equal(duplicates.totals[DUPLICATE_CLASS].bytes, 200);
}

TEST_OF(f, of_the_same_label_all_but_the_first_are_marked)
{
	static const char *const marked[] = {"train/cat/3", "val/cat/5"};
	uint8_t copies[8] = {0};

	add_content(f, "train/cat/2", "twice", 200);
	add_content(f, "train/cat/3", "twice", 200);
	add_content(f, "train/cat/4", "leaked", 300);
	add_content(f, "train/dog/4", "leaked", 300);
	add_content(f, "val/cat/5", "leaked", 300);
	find_all(f);
	assert_done(duplicates_mark(&duplicates, &classes, copies));
	for (size_t i = 0; i < 2; i++) {
		assert_true(bit_get(copies, find(f, marked[i])));
		bit_clear(copies, find(f, marked[i]));
	}
	for (size_t i = 0; i < sizeof(copies); i++)
		assert_int_equal(copies[i], 0);
}

TEST_OF(f, same_bytes_of_another_length_are_no_copy)
{
	add_content(f, "cat/1", "one", 100);
	add_content(f, "cat/2", "one", 101);
	add_content(f, "cat/3", "", 0);
	add_content(f, "cat/4", "", 0);
	find_all(f);
	assert_int_equal(duplicates.group_count, 0);
}

/* Equal in their first MiB, or in all of them. */
TEST_OF(f, long_files_are_compared_to_their_end)
{
	add_content(f, "cat/1", "long", 2 * MIB + 7);
	add_content(f, "cat/2", "long", 2 * MIB + 7);
	add_content(f, "cat/3", "long", 2 * MIB + 8);
	find_all(f);
	assert_int_equal(duplicates.group_count, 1);
	assert_int_equal(duplicates.groups[0].count, 2);
}

TEST_OF(f, a_hard_link_is_a_copy_that_takes_nothing)
{
	const char *name;
	uint32_t file;

	file = add_content(f, "train/cat/1", "one", 100);
	add_link(f, folder_of(f, "val/cat/", &name), "1", file);
	find_all(f);
	assert_int_equal(duplicates.group_count, 1);
	assert_int_equal(duplicates.groups[0].reach, DUPLICATE_SPLITS);
	assert_int_equal(duplicates.totals[DUPLICATE_SPLITS].bytes, 0);
}

TEST_OF(f, a_file_outside_of_the_classes_contradicts_no_label)
{
	add_content(f, "cat/1", "one", 100);
	add_content(f, "preview", "one", 100);
	find_all(f);
	assert_int_equal(duplicates.group_count, 1);
	assert_int_equal(duplicates.groups[0].reach, DUPLICATE_CLASS);
}

TEST_OF(f, no_files_have_no_copies)
{
	find_all(f);
	assert_int_equal(duplicates.group_count, 0);
}
