/* What is anomalous in a dataset: pack/tool/report/anomalies.h. */
#include "pack/tool/report/anomalies.h"
#include "pack_fixture.h"
#include "tests/unit/test.h"

static const struct dataset_image nothing = {.kind = IMAGE_UNKNOWN};
static const struct dataset_image jpeg = {.kind = IMAGE_JPEG, .width = 500, .height = 375};
static const struct dataset_image headless = {.kind = IMAGE_JPEG};

static enum anomaly judge(const char *name, uint64_t size, const struct dataset_image *image)
{
	const struct dataset_entry entry = {.name = name, .name_len = strlen(name), .size = size};

	return anomaly_of_file(&entry, image);
}

TEST(an_image_under_its_own_name_is_none)
{
	assert_int_equal(judge("a.JPEG", 100, &jpeg), ANOMALY_NONE);
	assert_int_equal(judge("a.jpg", 100, &jpeg), ANOMALY_NONE);
}

TEST(other_files_are_none_even_empty)
{
	assert_int_equal(judge("labels.txt", 100, &nothing), ANOMALY_NONE);
	assert_int_equal(judge("a.txt", 0, &nothing), ANOMALY_NONE);
	assert_int_equal(judge("", 5, &nothing), ANOMALY_NONE);
}

TEST(the_name_of_an_image_promises_one)
{
	assert_int_equal(judge("a.jpg", 0, &nothing), ANOMALY_EMPTY);
	assert_int_equal(judge("a.jpg", 100, &nothing), ANOMALY_NOT_IMAGE);
	assert_int_equal(judge("a.gif", 100, &nothing), ANOMALY_NOT_IMAGE);
}

TEST(a_small_file_without_a_size_has_lost_its_header)
{
	assert_int_equal(judge("a.jpg", 100, &headless), ANOMALY_NO_SIZE);
	assert_int_equal(judge("a.jpg", 64 << 10, &headless), ANOMALY_NO_SIZE);
}

TEST(the_size_of_a_long_file_may_come_after_its_first_bytes)
{
	assert_int_equal(judge("a.jpg", (64 << 10) + 1, &headless), ANOMALY_NONE);
}

TEST(a_name_that_imagefolder_does_not_take_is_passed_over)
{
	const struct dataset_image gif = {.kind = IMAGE_GIF, .width = 1, .height = 1};

	assert_int_equal(judge("a.jpg.bak", 100, &jpeg), ANOMALY_NOT_TAKEN);
	assert_int_equal(judge("a", 100, &jpeg), ANOMALY_NOT_TAKEN);
	assert_int_equal(judge("a.gif", 100, &gif), ANOMALY_NOT_TAKEN);
}

TEST(a_name_of_another_kind_is_a_wrong_one)
{
	assert_int_equal(judge("a.png", 100, &jpeg), ANOMALY_MISNAMED);
}

static bool is_image(const char *name, const struct dataset_image *image)
{
	const struct dataset_entry entry = {.name = name, .name_len = strlen(name), .size = 5};

	return anomaly_is_image(&entry, image);
}

TEST(name_or_content_make_an_image)
{
	assert_true(is_image("a.jpg", &nothing));
	assert_true(is_image("a", &jpeg));
	assert_false(is_image("a.txt", &nothing));
}

TEST(a_list_keeps_the_first_entries_and_counts_all)
{
	SCOPE(anomalies_release) struct anomalies anomalies = {0};

	assert_done(anomalies_init(&anomalies, 2 * ANOMALIES_LISTED));
	for (uint32_t i = 0; i < ANOMALIES_LISTED + 5; i++)
		anomalies_note(&anomalies, ANOMALY_TINY, i);
	assert_done(buf_error(&anomalies.lists[ANOMALY_TINY].entries));
	assert_int_equal(anomalies.lists[ANOMALY_TINY].count, ANOMALIES_LISTED + 5);
	assert_int_equal(anomaly_entries(&anomalies.lists[ANOMALY_TINY])[ANOMALIES_LISTED - 1],
			 ANOMALIES_LISTED - 1);
	for (unsigned i = 0; i < 3; i++)
		anomalies_note_unread(&anomalies, i ? -EIO : -EBADMSG, 7);
	assert_int_equal(anomalies.lists[ANOMALY_DAMAGED].count, 1);
	assert_int_equal(anomalies.lists[ANOMALY_UNREADABLE].count, 0);
}
