/* What a report says about a dataset: pack/tool/report/survey.h. */
#include "pack/tool/report/survey.h"
#include "pack_fixture.h"

/* Images as their rows in the index say: the bytes do not matter. */
static void add_image(struct fixture *f, struct made *made, const char *path, uint32_t width,
		      uint32_t height)
{
	const struct dataset_image image = {.kind = IMAGE_JPEG, .width = width, .height = height};
	const char *name;
	uint32_t parent = folder_of(f, made, path, &name);
	uint32_t id = add_name(f, parent, name);

	store(f, id, path, 1000 + width);
	builder_image(f->builder, id, &image);
}

static void scope_survey(struct survey **survey)
{
	survey_free(*survey);
}

static void look(struct fixture *f, struct survey **ret)
{
	finish_and_open(f);
	assert_done(survey_new(f->dataset, ret));
}

static void expect_list(struct fixture *f, const struct survey_list *list, const char *path)
{
	assert_int_equal(list->count, path ? 1 : 0);
	if (path)
		assert_int_equal(list->first[0], find(f, path));
}

static void sizes_are_measured_and_what_is_far_from_them_is_noted(void **state)
{
	SCOPE(scope_survey) struct survey *survey = NULL;
	struct made made = {0};
	struct fixture *f = *state;

	start(f);
	for (unsigned i = 0; i < 9; i++) {
		char path[32];

		snprintf(path, sizeof(path), "cat/%u.jpg", i);
		add_image(f, &made, path, 500 + i, 400);
	}
	add_image(f, &made, "cat/tiny.jpg", 60, 50);
	add_image(f, &made, "cat/huge.jpg", 5000, 4000);
	add_image(f, &made, "dog/wide.jpg", 1601, 400);
	add_image(f, &made, "dog/high.jpg", 100, 401);
	look(f, &survey);
	assert_int_equal(survey->image_count, 13);
	assert_int_equal(survey->sides.count, 13);
	assert_int_equal(survey->sides.width.min, 60);
	assert_int_equal(survey->sides.width.median, 504);
	assert_int_equal(survey->sides.height.max, 4000);
	expect_list(f, &survey->sides.tiny, "cat/tiny.jpg");
	expect_list(f, &survey->sides.huge, "cat/huge.jpg");
	expect_list(f, &survey->sides.wide, "dog/wide.jpg");
	expect_list(f, &survey->sides.narrow, "dog/high.jpg");
	assert_int_equal(survey->images[0], 11);
	assert_int_equal(survey->images[1], 2);
	assert_int_equal(survey->images[2], 0);
}

static void bytes_have_their_quantiles(void **state)
{
	SCOPE(scope_survey) struct survey *survey = NULL;
	struct made made = {0};
	struct fixture *f = *state;
	char path[32];

	start(f);
	for (unsigned i = 0; i < 200; i++) {
		snprintf(path, sizeof(path), "cat/%u.jpg", i);
		add_image(f, &made, path, 1 + i, 100);
	}
	look(f, &survey);
	assert_int_equal(survey->bytes.count, 200);
	assert_int_equal(survey->bytes.least, 1001);
	assert_int_equal(survey->bytes.median, 1101);
	assert_int_equal(survey->bytes.p99, 1198);
	assert_int_equal(survey->bytes.most, 1200);
}

static void what_is_no_image_is_suspect_by_its_name_only(void **state)
{
	SCOPE(scope_survey) struct survey *survey = NULL;
	struct made made = {0};
	struct fixture *f = *state;

	start(f);
	add_path(f, &made, "cat/text.jpg", 10);
	add_path(f, &made, "cat/text.txt", 10);
	add_path(f, &made, "cat/empty.jpg", 0);
	add_image(f, &made, "cat/headless.jpg", 0, 0);
	add_path(f, &made, "outside.jpg", 10);
	look(f, &survey);
	assert_int_equal(survey->image_count, 4);
	assert_int_equal(survey->suspects[SUSPECT_NO_IMAGE].count, 2);
	expect_list(f, &survey->suspects[SUSPECT_EMPTY], "cat/empty.jpg");
	expect_list(f, &survey->suspects[SUSPECT_NO_HEADER], "cat/headless.jpg");
	assert_int_equal(survey->images[0], 3);
	assert_int_equal(survey->images[1], 1);
	assert_int_equal(survey->bytes.count, 3);
}

static void labels_that_a_split_lacks_and_empty_classes_are_noted(void **state)
{
	SCOPE(scope_survey) struct survey *survey = NULL;
	struct made made = {0};
	struct fixture *f = *state;

	start(f);
	add_image(f, &made, "train/cat/1.jpg", 50, 50);
	add_image(f, &made, "train/dog/1.jpg", 51, 50);
	add_image(f, &made, "val/dog/1.jpg", 52, 50);
	add_path(f, &made, "val/fox/notes.txt", 10);
	look(f, &survey);
	assert_int_equal(survey->missing_labels.count, 2);
	assert_int_equal(survey->missing_labels.first[0], 0);
	assert_int_equal(survey->missing_labels.first[1], 2);
	assert_int_equal(survey->empty_classes.count, 1);
	assert_int_equal(survey->empty_classes.first[0], 3);
}

static void where_nothing_is_an_image_no_class_is_empty(void **state)
{
	SCOPE(scope_survey) struct survey *survey = NULL;
	struct made made = {0};
	struct fixture *f = *state;

	start(f);
	add_path(f, &made, "cat/1.npy", 10);
	look(f, &survey);
	assert_int_equal(survey->empty_classes.count, 0);
	assert_int_equal(survey->image_count, 0);
	assert_int_equal(survey->sides.count, 0);
}

static void only_the_first_of_a_list_are_named(void **state)
{
	struct survey_list list = {0};

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		survey_note(&list, i);
	assert_int_equal(list.count, 1000);
	assert_int_equal(list.first[SURVEY_NAMED - 1], SURVEY_NAMED - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
		TEST(sizes_are_measured_and_what_is_far_from_them_is_noted),
		TEST(bytes_have_their_quantiles),
		TEST(what_is_no_image_is_suspect_by_its_name_only),
		TEST(labels_that_a_split_lacks_and_empty_classes_are_noted),
		TEST(where_nothing_is_an_image_no_class_is_empty),
		cmocka_unit_test(only_the_first_of_a_list_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
