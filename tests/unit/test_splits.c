/* Files of different splits, by their names: pack/splits.h. */
#include "base/scope.h"
#include "pack/splits.h"
#include "tests/unit/test.h"

#define MOST 6

/* Names, each with the folder of its set behind it; NULL: none. */
static void check(const char *const (*names)[2])
{
	struct split_name splits[MOST] = {0};
	size_t count = 0;

	for (; names[count][0]; count++)
		splits[count].name = names[count][0];
	assert_int_equal(splits_find(splits, count), 0);
	for (size_t i = 0; i < count; i++)
		if (names[i][1])
			assert_string_equal(splits[i].folder, names[i][1]);
		else
			assert_null(splits[i].folder);
	splits_release(splits, count);
}

#define CHECK(...) check((const char *const[][2]){__VA_ARGS__, {NULL, NULL}})

TEST(shards_of_two_sets_are_two)
{
	CHECK({"data/train-00000-of-00002.parquet", "train"},
	      {"data/train-00001-of-00002.parquet", "train"},
	      {"data/test-00000-of-00001.parquet", "test"});
	CHECK({"cat-00000-of-00002.tar", "cat"}, {"dog-00000-of-00001.tar", "dog"},
	      {"cat-00001-of-00002.tar", "cat"});
	CHECK({"s3://b/in1k-val-00000-of-00002.lmdb?a/b", "validation"},
	      {"s3://b/in1k-train-00000-of-00002.lmdb?a/b", "train"});
}

TEST(a_split_is_called_as_load_dataset_calls_it)
{
	CHECK({"in1k-training-000000.tar", "train"}, {"in1k-valid-000000.tar", "validation"},
	      {"in1k-dev-000001.tar", "validation"}, {"in1k-eval-000001.tar", "test"});
	CHECK({"TRAIN.tar", "train"}, {"My Test.tar", "test"});
}

TEST(a_folder_says_the_split)
{
	CHECK({"d/train/0000.parquet", "train"}, {"d/val/0000.parquet", "validation"});
	CHECK({"train/a/0000.parquet", "train"}, {"train/b/0000.parquet", "train"},
	      {"test/b/0000.parquet", "test"});
	/* Not one that all are in. */
	CHECK({"train/x-00000-of-00002.tar", NULL}, {"train/x-00001-of-00002.tar", NULL});
}

TEST(folders_of_the_same_files_are_sets)
{
	CHECK({"full/train-00000-of-00001.parquet", "full"},
	      {"small/train-00000-of-00001.parquet", "small"});
	CHECK({"full/train-00000-of-00001.parquet", "full/train"},
	      {"full/test-00000-of-00001.parquet", "full/test"},
	      {"small/train-00000-of-00001.parquet", "small/train"},
	      {"small/test-00000-of-00001.parquet", "small/test"});
}

TEST(one_set_has_no_folder)
{
	CHECK({"train-00000-of-00002.parquet", NULL}, {"train-00001-of-00002.parquet", NULL});
	CHECK({"year=2025/part-0.parquet", NULL}, {"year=2026/part-0.parquet", NULL});
	CHECK({"x-000000.tar", NULL}, {"x-000001.tar", NULL});
	CHECK({"contest-0.tar", NULL}, {"latest-0.tar", NULL});
}

TEST(a_name_that_says_no_set_stays_beside_them)
{
	CHECK({"train-0.tar", "train"}, {"test-0.tar", "test"}, {"extra.tar", NULL});
}

TEST(what_is_told)
{
	struct split_name splits[] = {
		{.name = "train-0.tar"}, {.name = "train-1.tar"}, {.name = "val-0.tar"}};
	SCOPE(buf_release) struct buf text = BUF_INIT;

	assert_int_equal(splits_find(splits, 3), 0);
	assert_int_equal(splits_tell(splits, 3, &text), 0);
	assert_string_equal(text.data, "train (2 files) and validation (1 file)");
	splits_release(splits, 3);
}

TEST(names_with_a_number_at_the_end)
{
	assert_true(splits_is_numbered("a/x-00003-of-00015.lmdb"));
	assert_true(splits_is_numbered("x-000012.tar.gz"));
	assert_true(splits_is_numbered("0000.parquet?token=1"));
	assert_false(splits_is_numbered("train.lmdb"));
	assert_false(splits_is_numbered("in1k.lmdb"));
	assert_false(splits_is_numbered("-0/train.lmdb"));
}
