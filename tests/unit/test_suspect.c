/* What is wrong with a file, by its name and first bytes: pack/tool/report/suspect.h. */
#include "pack/tool/report/suspect.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct dataset_image nothing = {.kind = IMAGE_UNKNOWN};
static const struct dataset_image jpeg = {.kind = IMAGE_JPEG, .width = 500, .height = 375};
static const struct dataset_image headless = {.kind = IMAGE_JPEG};

static enum suspect judge(const char *name, uint64_t size, const struct dataset_image *image)
{
	return suspect_of(name, strlen(name), size, image);
}

static void an_image_under_its_own_name_is_none(void **state)
{
	(void)state;
	assert_int_equal(judge("a.JPEG", 100, &jpeg), SUSPECT_NOT);
	assert_int_equal(judge("a.jpg", 100, &jpeg), SUSPECT_NOT);
}

static void other_files_are_none_even_empty(void **state)
{
	(void)state;
	assert_int_equal(judge("labels.txt", 100, &nothing), SUSPECT_NOT);
	assert_int_equal(judge("a.txt", 0, &nothing), SUSPECT_NOT);
	assert_int_equal(judge("", 5, &nothing), SUSPECT_NOT);
}

static void the_name_of_an_image_promises_one(void **state)
{
	(void)state;
	assert_int_equal(judge("a.jpg", 0, &nothing), SUSPECT_EMPTY);
	assert_int_equal(judge("a.jpg", 100, &nothing), SUSPECT_NO_IMAGE);
	assert_int_equal(judge("a.gif", 100, &nothing), SUSPECT_NO_IMAGE);
}

static void a_small_file_without_a_size_has_lost_its_header(void **state)
{
	(void)state;
	assert_int_equal(judge("a.jpg", 100, &headless), SUSPECT_NO_HEADER);
	assert_int_equal(judge("a.jpg", 64 << 10, &headless), SUSPECT_NO_HEADER);
}

static void a_long_one_may_have_it_behind_its_first_bytes(void **state)
{
	(void)state;
	assert_int_equal(judge("a.jpg", (64 << 10) + 1, &headless), SUSPECT_NOT);
}

static void a_name_that_imagefolder_does_not_take_is_passed_over(void **state)
{
	const struct dataset_image gif = {.kind = IMAGE_GIF, .width = 1, .height = 1};

	(void)state;
	assert_int_equal(judge("a.jpg.bak", 100, &jpeg), SUSPECT_PASSED);
	assert_int_equal(judge("a", 100, &jpeg), SUSPECT_PASSED);
	assert_int_equal(judge("a.gif", 100, &gif), SUSPECT_PASSED);
}

static void a_name_of_another_kind_is_a_wrong_one(void **state)
{
	(void)state;
	assert_int_equal(judge("a.png", 100, &jpeg), SUSPECT_MISNAMED);
}

static void name_or_content_make_an_image(void **state)
{
	(void)state;
	assert_true(suspect_image("a.jpg", 5, &nothing));
	assert_true(suspect_image("a", 1, &jpeg));
	assert_false(suspect_image("a.txt", 5, &nothing));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_image_under_its_own_name_is_none),
		cmocka_unit_test(other_files_are_none_even_empty),
		cmocka_unit_test(the_name_of_an_image_promises_one),
		cmocka_unit_test(a_small_file_without_a_size_has_lost_its_header),
		cmocka_unit_test(a_long_one_may_have_it_behind_its_first_bytes),
		cmocka_unit_test(a_name_that_imagefolder_does_not_take_is_passed_over),
		cmocka_unit_test(a_name_of_another_kind_is_a_wrong_one),
		cmocka_unit_test(name_or_content_make_an_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
