/* Which pictures are on a contact sheet, and how: pack/tool/report/sheet.h. What is packed here is
 * named like images, and is none: where that does not matter. */
#include "pack/tool/report/sheet.h"
#include "pack_fixture.h"

struct shown {
	struct survey *survey;
	struct sheet sheet;
	struct buf page;
	uint64_t done, bytes;
};

static void release(struct shown *shown)
{
	survey_free(shown->survey);
	sheet_release(&shown->sheet);
	buf_release(&shown->page);
}

static void add_class(struct fixture *f, struct made *made, const char *name, unsigned images)
{
	char path[64];

	for (unsigned i = 0; i < images; i++) {
		snprintf(path, sizeof(path), "%s/%03u.jpg", name, i);
		add_path(f, made, path, 10 + i);
	}
}

static void choose(struct fixture *f, uint32_t samples, struct shown *shown)
{
	finish_and_open(f);
	assert_done(survey_new(f->dataset, &shown->survey));
	assert_done(sheet_new(f->dataset, shown->survey, samples, &shown->sheet));
}

static int count(void *context, uint64_t bytes)
{
	struct shown *shown = context;

	shown->done++;
	shown->bytes += bytes;
	return shown->done == 1000 ? -EINTR : 0;
}

static int show(struct fixture *f, struct shown *shown)
{
	const struct sheet_source source = {
		.dataset = f->dataset, .survey = shown->survey, .done = count, .context = shown};
	struct html html = html_begin(&shown->page);
	int r = sheet_write(&shown->sheet, &source, &html);

	assert_done(buf_add(&shown->page, "", 1));
	return r;
}

static void expect_pictures(struct fixture *f, const struct sheet *sheet, const char *const *paths)
{
	for (uint32_t i = 0; i < sheet->count; i++)
		assert_int_equal(sheet->pictures[i].entry, find(f, paths[i]));
	assert_null(paths[sheet->count]);
}

static void pictures_are_spaced_from_the_first_to_the_last(void **state)
{
	SCOPE(release) struct shown shown = {0};
	struct made made = {0};
	struct fixture *f = *state;

	start(f);
	add_class(f, &made, "cat", 10);
	add_class(f, &made, "dog", 2);
	choose(f, 3, &shown);
	expect_pictures(f, &shown.sheet,
			(const char *[]){"cat/000.jpg", "cat/004.jpg", "cat/009.jpg", "dog/000.jpg",
					 "dog/001.jpg", NULL});
	assert_int_equal(shown.sheet.bytes, 10 + 14 + 19 + 10 + 11);
}

static void the_splits_of_a_label_are_shown_together(void **state)
{
	SCOPE(release) struct shown shown = {0};
	struct made made = {0};
	struct fixture *f = *state;

	start(f);
	add_class(f, &made, "train/cat", 2);
	add_class(f, &made, "train/dog", 1);
	add_class(f, &made, "val/cat", 1);
	choose(f, 6, &shown);
	expect_pictures(f, &shown.sheet,
			(const char *[]){"train/cat/000.jpg", "train/cat/001.jpg",
					 "val/cat/000.jpg", "train/dog/000.jpg", NULL});
}

static void one_picture_is_the_first_and_none_is_none(void **state)
{
	SCOPE(release) struct shown shown = {0};
	SCOPE(sheet_release) struct sheet none = {0};
	struct made made = {0};
	struct fixture *f = *state;

	start(f);
	add_class(f, &made, "cat", 10);
	choose(f, 1, &shown);
	expect_pictures(f, &shown.sheet, (const char *[]){"cat/000.jpg", NULL});
	assert_done(sheet_new(f->dataset, shown.survey, 0, &none));
	assert_int_equal(none.count, 0);
}

static void a_flat_folder_is_shown_too(void **state)
{
	SCOPE(release) struct shown shown = {0};
	struct fixture *f = *state;

	start(f);
	add_file(f, BUILDER_ROOT, "a.jpg", 10);
	add_file(f, BUILDER_ROOT, "b.jpg", 10);
	choose(f, UINT32_MAX, &shown);
	assert_int_equal(shown.sheet.count, 2);
	assert_done(show(f, &shown));
	assert_non_null(strstr(shown.page.data, "<h3>images <span>2 images</span>"));
}

/* 60 classes of 1 to 60 images: with 40 pictures each there is room for 30. */
static void where_there_are_too_many_the_largest_and_the_smallest_are_shown(void **state)
{
	SCOPE(release) struct shown shown = {0};
	struct made made = {0};
	struct fixture *f = *state;
	char name[8];

	start(f);
	for (unsigned i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "c%02u", i);
		add_class(f, &made, name, i + 1);
	}
	choose(f, 40, &shown);
	assert_int_equal(shown.sheet.labels, 60);
	assert_int_equal(shown.sheet.shown, 30);
	assert_true(shown.sheet.count <= SHEET_MOST);
	assert_int_equal(shown.sheet.pictures[0].label, 0);
	assert_int_equal(shown.sheet.pictures[shown.sheet.count - 1].label, 59);
}

static void each_picture_is_told_and_can_end_it(void **state)
{
	SCOPE(release) struct shown shown = {0};
	struct made made = {0};
	struct fixture *f = *state;

	start(f);
	add_class(f, &made, "cat", 3);
	choose(f, 2, &shown);
	assert_done(show(f, &shown));
	assert_int_equal(shown.done, 2);
	assert_int_equal(shown.bytes, 10 + 12);
	shown.done = 999;
	assert_int_equal(show(f, &shown), -EINTR);
}

static void a_damaged_picture_is_noted_and_the_others_are_shown(void **state)
{
	SCOPE(release) struct shown shown = {0};
	struct made made = {0};
	struct fixture *f = *state;
	struct dataset_extent extent;
	int fd;

	start(f);
	add_class(f, &made, "cat", 3);
	choose(f, 3, &shown);
	dataset_extent(f->dataset, 1, &extent);
	fd = open(f->path, O_WRONLY | O_CLOEXEC);
	assert_done(io_pwrite_full(fd, "damage", 6, extent.offset));
	close(fd);
	assert_done(show(f, &shown));
	assert_int_equal(shown.sheet.unreadable.count, 1);
	assert_int_equal(shown.sheet.unreadable.first[0], find(f, "cat/001.jpg"));
	assert_non_null(
		strstr(shown.page.data, "title=\"cat/001.jpg\">damaged in the pack</span>"));
	assert_non_null(strstr(shown.page.data, "title=\"cat/002.jpg\">holds no image</span>"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
		TEST(pictures_are_spaced_from_the_first_to_the_last),
		TEST(the_splits_of_a_label_are_shown_together),
		TEST(one_picture_is_the_first_and_none_is_none),
		TEST(a_flat_folder_is_shown_too),
		TEST(where_there_are_too_many_the_largest_and_the_smallest_are_shown),
		TEST(each_picture_is_told_and_can_end_it),
		TEST(a_damaged_picture_is_noted_and_the_others_are_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
