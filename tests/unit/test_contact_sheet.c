/* Which pictures are on a contact sheet, and how: pack/tool/report/contact_sheet.h. The files that
 * are packed here are named like images, and are none. */
#include "base/bits.h"
#include "pack/tool/report/contact_sheet.h"
#include "pack_fixture.h"
#include "tests/unit/test.h"

struct shown {
	struct summary summary;
	struct anomalies anomalies;
	struct statistics *statistics;
	struct contact_sheet_source source;
	struct contact_sheet sheet;
	uint8_t copies[512]; /* a bit for each entry */
	uint64_t check_all, done, bytes;
};

static void release(struct shown *shown)
{
	summary_release(&shown->summary);
	anomalies_release(&shown->anomalies);
	statistics_free(shown->statistics);
	contact_sheet_release(&shown->sheet);
}

static void add_class(struct fixture *f, const char *name, unsigned images)
{
	char path[64];

	for (unsigned i = 0; i < images; i++) {
		snprintf(path, sizeof(path), "%s/%03u.jpg", name, i);
		add_path(f, path, 10 + i);
	}
}

static int count(void *context, uint64_t bytes)
{
	struct shown *shown = context;

	shown->done++;
	shown->bytes += bytes;
	return shown->done == 1000 ? -EINTR : 0;
}

static int show(struct shown *shown)
{
	return contact_sheet_read(&shown->sheet, &shown->source, &shown->anomalies);
}

static void choose_in(struct fixture *f, uint32_t samples, struct shown *shown)
{
	open_pack(f);
	assert_done(summary_new(f->dataset, &shown->summary));
	assert_done(anomalies_init(&shown->anomalies, dataset_entries(f->dataset)));
	assert_done(
		statistics_new(f->dataset, &shown->summary, &shown->anomalies, &shown->statistics));
	shown->source = (struct contact_sheet_source){.dataset = f->dataset,
						      .summary = &shown->summary,
						      .statistics = shown->statistics,
						      .copies = shown->copies,
						      .check_all = shown->check_all,
						      .done = count,
						      .context = shown};
	assert_done(contact_sheet_new(&shown->source, samples, &shown->sheet));
}

static void choose(struct fixture *f, uint32_t samples, struct shown *shown)
{
	finish(f);
	choose_in(f, samples, shown);
}

static const char *text_of(const struct shown *shown, uint32_t number)
{
	assert_done(buf_add(&((struct shown *)shown)->sheet.pictures[number].text, "", 1));
	return shown->sheet.pictures[number].text.data;
}

static void expect_pictures(struct fixture *f, const struct contact_sheet *sheet,
			    const char *const *paths)
{
	for (uint32_t i = 0; i < sheet->count; i++)
		assert_int_equal(sheet->pictures[i].entry, find(f, paths[i]));
	assert_null(paths[sheet->count]);
}

FIXTURE(f, struct fixture, fixture_setup, fixture_teardown);

TEST_OF(f, pictures_are_spaced_from_the_first_to_the_last)
{
	SCOPE(release) struct shown shown = {.check_all = GIB};

	add_class(f, "cat", 10);
	add_class(f, "dog", 2);
	choose(f, 3, &shown);
	expect_pictures(f, &shown.sheet,
			(const char *[]){"cat/000.jpg", "cat/004.jpg", "cat/009.jpg", "dog/000.jpg",
					 "dog/001.jpg", NULL});
}

TEST_OF(f, the_splits_of_a_label_are_shown_together)
{
	SCOPE(release) struct shown shown = {.check_all = GIB};

	add_class(f, "train/cat", 2);
	add_class(f, "train/dog", 1);
	add_class(f, "val/cat", 1);
	choose(f, 6, &shown);
	assert_done(show(&shown));
	expect_pictures(f, &shown.sheet,
			(const char *[]){"train/cat/000.jpg", "train/cat/001.jpg",
					 "val/cat/000.jpg", "train/dog/000.jpg", NULL});
}

TEST_OF(f, copies_are_passed_over)
{
	SCOPE(release) struct shown shown = {.check_all = GIB};

	add_class(f, "cat", 10);
	add_class(f, "dog", 2);
	finish(f);
	open_pack(f);
	for (unsigned i = 0; i < 10; i++)
		if (i != 2 && i != 6) {
			char path[32];

			snprintf(path, sizeof(path), "cat/%03u.jpg", i);
			bit_set(shown.copies, find(f, path));
		}
	choose_in(f, 4, &shown);
	expect_pictures(
		f, &shown.sheet,
		(const char *[]){"cat/002.jpg", "cat/006.jpg", "dog/000.jpg", "dog/001.jpg", NULL});
	assert_int_equal(shown.sheet.read_count, 12);
}

TEST_OF(f, one_picture_is_the_first_and_none_is_none)
{
	SCOPE(release) struct shown shown = {.check_all = GIB};
	SCOPE(contact_sheet_release) struct contact_sheet none = {0};

	add_class(f, "cat", 10);
	choose(f, 1, &shown);
	expect_pictures(f, &shown.sheet, (const char *[]){"cat/000.jpg", NULL});
	assert_done(contact_sheet_new(&shown.source, 0, &none));
	assert_int_equal(none.count, 0);
}

TEST_OF(f, a_flat_folder_is_shown_too)
{
	SCOPE(release) struct shown shown = {.check_all = GIB};

	add_file(f, BUILDER_ROOT, "a.jpg", 10);
	add_file(f, BUILDER_ROOT, "b.jpg", 10);
	choose(f, UINT32_MAX, &shown);
	assert_int_equal(shown.sheet.count, 2);
	assert_int_equal(shown.sheet.pictures[1].label, 0);
}

/* 60 classes of 1 to 60 images: with 40 pictures each there is room for 30. */
TEST_OF(f, where_there_are_too_many_the_largest_and_the_smallest_are_shown)
{
	SCOPE(release) struct shown shown = {.check_all = GIB};
	char name[8];

	for (unsigned i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "c%02u", i);
		add_class(f, name, i + 1);
	}
	choose(f, 40, &shown);
	assert_int_equal(shown.sheet.labels, 60);
	assert_int_equal(shown.sheet.labels_shown, 30);
	assert_true(shown.sheet.count <= CONTACT_SHEET_MOST);
	assert_int_equal(shown.sheet.pictures[0].label, 0);
	assert_int_equal(shown.sheet.pictures[shown.sheet.count - 1].label, 59);
}

TEST_OF(f, each_image_is_reported_and_can_end_it)
{
	SCOPE(release) struct shown shown = {.check_all = GIB};

	add_class(f, "cat", 3);
	choose(f, 2, &shown);
	assert_done(show(&shown));
	assert_int_equal(shown.done, 3);
	assert_int_equal(shown.bytes, 10 + 11 + 12);
	shown.done = 999;
	assert_int_equal(show(&shown), -EINTR);
}

TEST_OF(f, all_images_are_read_where_they_are_small)
{
	add_class(f, "cat", 3);
	for (uint64_t check_all = 10 + 11 + 12 - 1; check_all <= 10 + 11 + 12; check_all++) {
		SCOPE(release) struct shown shown = {.check_all = check_all};

		if (f->builder)
			finish(f);
		choose_in(f, 2, &shown);
		assert_int_equal(shown.sheet.read_count, check_all == 33 ? 3 : 2);
		assert_int_equal(shown.sheet.count, 2);
	}
}

TEST_OF(f, a_damaged_picture_is_noted_and_the_others_are_shown)
{
	SCOPE(release) struct shown shown = {.check_all = GIB};
	struct dataset_extent extent;
	int fd;

	add_class(f, "cat", 3);
	choose(f, 3, &shown);
	extent = dataset_extent(f->dataset, 1);
	fd = open(f->path, O_WRONLY | O_CLOEXEC);
	assert_done(io_pwrite_full(fd, "damage", 6, extent.offset));
	close(fd);
	assert_done(show(&shown));
	assert_int_equal(shown.anomalies.lists[ANOMALY_DAMAGED].count, 1);
	assert_int_equal(anomaly_entries(&shown.anomalies.lists[ANOMALY_DAMAGED])[0],
			 find(f, "cat/001.jpg"));
	assert_string_equal(text_of(&shown, 1), "damaged in the pack");
	assert_string_equal(text_of(&shown, 2), "holds no image");
}
