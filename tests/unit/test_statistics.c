/* Figures of images, and what is anomalous among them: pack/tool/report/statistics.h. */
#include "pack/tool/report/statistics.h"
#include "pack_fixture.h"
#include "tests/unit/test.h"

/* Images as their rows in the index say: the bytes do not matter. */
static void add_image(struct fixture *f, const char *path, uint32_t width, uint32_t height)
{
	const struct dataset_image image = {.kind = IMAGE_JPEG, .width = width, .height = height};
	const char *name;
	uint32_t parent = folder_of(f, path, &name);
	uint32_t id = add_name(f, parent, name);

	store(f, id, path, 1000 + width);
	builder_image(f->builder, id, &image);
}

static int read_bytes(void *context, void *buf, size_t len)
{
	const uint8_t **at = context;

	memcpy(buf, *at, len);
	*at += len;
	return 0;
}

/* A TIFF whose directory is behind its pixels, in a pack whose maker did not look there. */
static void add_tiff(struct fixture *f, const char *path)
{
	enum { DIRECTORY = 5 << 20 };
	static uint8_t tiff[DIRECTORY + 30] = "II*\0\0\0\x50";
	const struct dataset_image image = {.kind = IMAGE_TIFF};
	const uint8_t *at = tiff;
	const struct builder_source source = {
		.read = read_bytes, .context = &at, .size = sizeof(tiff)};
	const char *name;
	uint32_t parent = folder_of(f, path, &name);
	uint32_t id = add_name(f, parent, name);

	memcpy(tiff + DIRECTORY, "\2\0\0\1\3\0\1\0\0\0\x5a\0\0\0\1\1\4\0\1\0\0\0\x3c\0\0\0\0\0\0\0",
	       30);
	assert_done(builder_store(f->builder, id, &source, &f->err));
	builder_image(f->builder, id, &image);
}

static struct {
	struct summary summary;
	struct anomalies anomalies;
	struct statistics *statistics;
} looked;

static void end_look(struct fixture *f)
{
	summary_release(&looked.summary);
	anomalies_release(&looked.anomalies);
	statistics_free(looked.statistics);
	memset(&looked, 0, sizeof(looked));
	fixture_teardown(f);
}

static void look(struct fixture *f)
{
	finish_and_open(f);
	assert_done(summary_new(f->dataset, &looked.summary));
	assert_done(anomalies_init(&looked.anomalies, dataset_entries(f->dataset)));
	assert_done(
		statistics_new(f->dataset, &looked.summary, &looked.anomalies, &looked.statistics));
	assert_done(statistics_measure(looked.statistics, &looked.anomalies));
}

static void expect_one(struct fixture *f, enum anomaly kind, const char *path)
{
	assert_int_equal(looked.anomalies.lists[kind].count, 1);
	assert_int_equal(anomaly_entries(&looked.anomalies.lists[kind])[0], find(f, path));
}

FIXTURE(f, struct fixture, fixture_setup, end_look);

TEST_OF(f, a_size_that_was_not_known_is_looked_for)
{
	add_tiff(f, "cat/a.tif");
	look(f);
	assert_int_equal(looked.statistics->sides.count, 1);
	assert_int_equal(looked.statistics->sides.width.min, 90);
	assert_int_equal(looked.statistics->sides.height.max, 60);
}

TEST_OF(f, sizes_are_measured_and_what_is_far_from_them_is_noted)
{
	for (unsigned i = 0; i < 9; i++) {
		char path[32];

		snprintf(path, sizeof(path), "cat/%u.jpg", i);
		add_image(f, path, 500 + i, 400);
	}
	add_image(f, "cat/tiny.jpg", 60, 50);
	add_image(f, "cat/huge.jpg", 5000, 4000);
	add_image(f, "dog/wide.jpg", 1601, 400);
	add_image(f, "dog/high.jpg", 100, 401);
	look(f);
	assert_int_equal(looked.statistics->image_count, 13);
	assert_int_equal(looked.statistics->sides.count, 13);
	assert_int_equal(looked.statistics->sides.width.min, 60);
	assert_int_equal(looked.statistics->sides.width.median, 504);
	assert_int_equal(looked.statistics->sides.height.max, 4000);
	expect_one(f, ANOMALY_TINY, "cat/tiny.jpg");
	expect_one(f, ANOMALY_HUGE, "cat/huge.jpg");
	expect_one(f, ANOMALY_WIDE, "dog/wide.jpg");
	expect_one(f, ANOMALY_HIGH, "dog/high.jpg");
	assert_int_equal(looked.statistics->images[0], 11);
	assert_int_equal(looked.statistics->images[1], 2);
	assert_int_equal(looked.statistics->images[2], 0);
}

TEST_OF(f, bytes_have_their_quantiles)
{
	char path[32];

	for (unsigned i = 0; i < 200; i++) {
		snprintf(path, sizeof(path), "cat/%u.jpg", i);
		add_image(f, path, 1 + i, 100);
	}
	look(f);
	assert_int_equal(looked.statistics->bytes.count, 200);
	assert_int_equal(looked.statistics->bytes.range.min, 1001);
	assert_int_equal(looked.statistics->bytes.range.median, 1101);
	assert_int_equal(looked.statistics->bytes.p99, 1198);
	assert_int_equal(looked.statistics->bytes.range.max, 1200);
}

TEST_OF(f, what_is_no_image_is_an_anomaly_by_its_name_only)
{
	add_path(f, "cat/text.jpg", 10);
	add_path(f, "cat/text.txt", 10);
	add_path(f, "cat/empty.jpg", 0);
	add_image(f, "cat/headless.jpg", 0, 0);
	add_path(f, "outside.jpg", 10);
	look(f);
	assert_int_equal(looked.statistics->image_count, 4);
	assert_int_equal(looked.anomalies.lists[ANOMALY_NOT_IMAGE].count, 2);
	expect_one(f, ANOMALY_EMPTY, "cat/empty.jpg");
	expect_one(f, ANOMALY_NO_SIZE, "cat/headless.jpg");
	assert_int_equal(looked.statistics->images[0], 3);
	assert_int_equal(looked.statistics->images[1], 1);
	assert_int_equal(looked.statistics->bytes.count, 3);
}

TEST_OF(f, labels_that_a_split_lacks_and_empty_classes_are_noted)
{
	const struct anomaly_list *missing;

	add_image(f, "train/cat/1.jpg", 50, 50);
	add_image(f, "train/dog/1.jpg", 51, 50);
	add_image(f, "val/dog/1.jpg", 52, 50);
	add_path(f, "val/fox/notes.txt", 10);
	look(f);
	missing = &looked.anomalies.lists[ANOMALY_MISSING_LABEL];
	assert_int_equal(missing->count, 2);
	assert_int_equal(anomaly_entries(missing)[0], find(f, "train/cat"));
	assert_int_equal(anomaly_entries(missing)[1], find(f, "val/fox"));
	expect_one(f, ANOMALY_EMPTY_CLASS, "val/fox");
}

TEST_OF(f, where_nothing_is_an_image_no_class_is_empty)
{
	add_path(f, "cat/1.npy", 10);
	look(f);
	assert_int_equal(looked.anomalies.lists[ANOMALY_EMPTY_CLASS].count, 0);
	assert_int_equal(looked.statistics->image_count, 0);
	assert_int_equal(looked.statistics->sides.count, 0);
}

/* As no packer writes it, but a damaged index may say it. */
TEST_OF(f, an_image_without_a_height_has_no_size)
{
	add_image(f, "cat/flat.jpg", 500, 0);
	add_image(f, "cat/thin.jpg", 0, 400);
	look(f);
	assert_int_equal(looked.statistics->image_count, 2);
	assert_int_equal(looked.statistics->sides.count, 0);
}

TEST_OF(f, links_that_lead_nowhere_are_noted)
{
	static const struct {
		const char *target;
		enum anomaly anomaly;
	} links[] = {
		{"1.jpg", ANOMALY_NONE},
		{"./1.jpg", ANOMALY_NONE},
		{"../cat//1.jpg", ANOMALY_NONE},
		{"..", ANOMALY_NONE},
		{"other/x", ANOMALY_LINK_DANGLES},
		{"1.jpg/x", ANOMALY_LINK_DANGLES},
		{"link00/anything", ANOMALY_NONE},
		{"../../elsewhere/1.jpg", ANOMALY_LINK_LEAVES},
		{"/data/1.jpg", ANOMALY_LINK_LEAVES},
	};
	const char *name;
	char path[32];
	uint32_t cat;

	add_image(f, "cat/1.jpg", 50, 50);
	cat = folder_of(f, "cat/", &name);
	for (unsigned i = 0; i < sizeof(links) / sizeof(*links); i++) {
		snprintf(path, sizeof(path), "link%02u", i);
		add_symlink(f, cat, path, links[i].target);
	}
	look(f);
	for (unsigned i = 0; i < sizeof(links) / sizeof(*links); i++) {
		snprintf(path, sizeof(path), "cat/link%02u", i);
		assert_int_equal(anomaly_of_link(f->dataset, find(f, path)), links[i].anomaly);
	}
	assert_int_equal(looked.anomalies.lists[ANOMALY_LINK_LEAVES].count, 2);
	assert_int_equal(looked.anomalies.lists[ANOMALY_LINK_DANGLES].count, 2);
}
