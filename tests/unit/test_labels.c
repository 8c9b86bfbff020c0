/* The labels of a dataset as text: pack/labels.h. What ImageFolder makes of them is tested on
 * mounts (tests/mount/test_labels.py). */
#include "base/scope.h"
#include "pack/labels.h"
#include "tests/unit/test.h"
#include <string.h>

static void expect_line(struct labels *labels, const char *expected)
{
	SCOPE(buf_release) struct buf line = BUF_INIT;

	assert_int_equal(labels_write(labels, &line), 0);
	assert_string_equal(line.len ? line.data : "", expected);
	labels_release(labels);
	*labels = (struct labels){0};
}

static void add(struct labels *labels, int64_t label, const char *folder)
{
	assert_int_equal(labels_add(labels, label, folder, strlen(folder)), 0);
}

static void read_text(struct labels *labels, const char *text, const char *below)
{
	assert_int_equal(labels_read(labels, text, strlen(text), below), 0);
}

TEST(labels_are_sorted_each_folder_once)
{
	struct labels labels = {0};

	expect_line(&labels, "");
	add(&labels, 10, "j");
	add(&labels, 2, "train/c");
	add(&labels, 2, "train/b");
	add(&labels, 10, "j");
	expect_line(&labels, "labels=2:train/b//2:train/c//10:j\n");
}

TEST(folders_of_any_name_come_back)
{
	struct labels labels = {0};

	add(&labels, 0, "a\nb\\n");
	add(&labels, 1, "c:d");
	add(&labels, 2, "");
	expect_line(&labels, "labels=0:a\\nb\\\\n//1:c:d//2:\n");
	read_text(&labels, "0:a\\nb\\\\n//1:c:d//2:", "");
	expect_line(&labels, "labels=0:a\\nb\\\\n//1:c:d//2:\n");
}

TEST(what_goes_below_a_folder_is_there)
{
	struct labels labels = {0};

	read_text(&labels, "0:a//1:b", "x/y");
	read_text(&labels, "0:c", "");
	expect_line(&labels, "labels=0:c//0:x/y/a//1:x/y/b\n");
}

TEST(what_is_no_label_is_passed_over)
{
	static const char *const texts[] = {"",	    "//",   ":",
					    "x:a",  "-1:a", "1a:b",
					    "12",   ":a",   "99999999999999999999999999:a",
					    "////", "\\",   "1",
					    "+:a"};
	struct labels labels = {0};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		read_text(&labels, texts[i], "");
	expect_line(&labels, "");
	read_text(&labels, "1:a\\//x//2:b//", "");
	expect_line(&labels, "labels=1:a\\\\//2:b\n");
}

static int add_none(const void *context, int64_t label, struct buf *above, struct labels *labels)
{
	(void)context, (void)label, (void)above, (void)labels;
	return 0;
}

TEST(folders_are_made_of_a_million_labels_at_most)
{
	struct labels labels = {0};
	struct err err;

	assert_int_equal(labels_add_gaps(&labels, add_none, NULL, &err), 0);
	add(&labels, 1, "a");
	add(&labels, 1, "b");
	add(&labels, LABELS_EMPTY_MOST + 1, "c");
	assert_int_equal(labels_add_gaps(&labels, add_none, NULL, &err), 0);
	add(&labels, LABELS_EMPTY_MOST + 2, "d"); /* the greatest label does not count */
	assert_int_equal(labels_add_gaps(&labels, add_none, NULL, &err), 0);
	add(&labels, LABELS_EMPTY_MOST + 4, "e");
	assert_int_equal(labels_add_gaps(&labels, add_none, NULL, &err), -EINVAL);
	assert_string_equal(err.text,
			    "'--empty-classes': 1048577 of the labels up to 1048580 have "
			    "no image: too many folders");
	add(&labels, INT64_MAX, "f");
	assert_int_equal(labels_add_gaps(&labels, add_none, NULL, &err), -EINVAL);
	labels_release(&labels);
}

static int add_it(const void *context, int64_t label, struct buf *above, struct labels *labels)
{
	assert_int_equal(buf_addf(above, "%s%d", (const char *)context, (int)label), 0);
	return labels_add(labels, label, above->data, above->len);
}

TEST(a_label_without_a_folder_gets_one_beside_the_next)
{
	struct labels labels = {0};

	add(&labels, 1, "train/a");
	add(&labels, 1, "val/a");
	add(&labels, 4, "z");
	assert_int_equal(labels_add_gaps(&labels, add_it, "n", NULL), 0);
	expect_line(&labels, "labels=0:train/n0//1:train/a//1:val/a//2:n2//3:n3//4:z\n");
}
