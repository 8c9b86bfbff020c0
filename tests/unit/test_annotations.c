/* Texts that say where something is in an image: pack/tool/image/annotations.h. What datasets have
 * is in tests/mount/annotated.py; here are parts, names and damage. */
#include "base/scope.h"
#include "pack/tool/image/annotations.h"
#include "tests/unit/test.h"
#include <string.h>

static void release(struct annotations_scan **scan)
{
	annotations_free(*scan);
}

static void add_names(struct photo_names *names, const char *const *list)
{
	for (; *list; list++)
		assert_int_equal(photo_names_add(names, *list), 0);
}

#define NAMES(...)                                                 \
	SCOPE(photo_names_release) struct photo_names names = {0}; \
	add_names(&names, (const char *const[]){__VA_ARGS__, NULL})

/* The images that a text is about; 0: it is harmless. It comes in parts of `step` bytes behind the
 * first, each in memory of its own. */
static uint64_t images_of(const struct photo_names *names, const char *path, const void *text,
			  size_t len, size_t step)
{
	SCOPE(release) struct annotations_scan *scan = NULL;
	struct annotations found = {0};
	size_t part = len < ANNOTATIONS_HEAD || len == step ? len : ANNOTATIONS_HEAD;
	int r = annotations_begin(names, path, &scan);

	if (step < 8)
		part = len < 8 ? len : 8;
	for (size_t at = 0; r == 0 && at < len; at += part, part = step) {
		SCOPE_FREE char *copy = NULL;

		part = part < len - at ? part : len - at;
		copy = malloc(part);
		assert_non_null(copy);
		memcpy(copy, (const char *)text + at, part);
		r = annotations_feed(scan, copy, part);
	}
	if (r == 0)
		r = annotations_end(scan, &found);
	assert_in_range(r, 0, 1);
	return r == 1 ? found.images : 0;
}

static uint64_t look(const struct photo_names *names, const char *path, const char *text)
{
	uint64_t whole = images_of(names, path, text, strlen(text), strlen(text));

	for (size_t step = 1; step < 8; step++)
		assert_int_equal(images_of(names, path, text, strlen(text), step), whole);
	return whole;
}

#define BOX ",10,20,300,200\n"

/* Each of the texts is about so many images. */
static void expect_each(const struct photo_names *names, const char *path, const char *const *texts,
			size_t count, uint64_t images)
{
	for (size_t i = 0; i < count; i++)
		if (look(names, path, texts[i]) != images)
			fail_msg("%s", texts[i]);
}

TEST(an_image_is_named_in_many_ways)
{
	NAMES("a.jpg", "0007.png", "my photo (1).jpg", "c,d.JPG", "café.webp", "v1.2.jpeg");
	static const char *const ways[] = {
		"a.jpg" BOX,
		"a" BOX,
		"A.JPG" BOX,
		"images/train/a.jpg" BOX,
		"C:\\images\\a.jpg" BOX,
		"https://example.org/a.jpg?width=9" BOX,
		"a.png" BOX,
		"\"a\"" BOX,
		"0007" BOX,
		"x/0007" BOX,
		"my photo (1).jpg" BOX,
		"my photo (1)" BOX,
		"\"c,d.jpg\"" BOX,
		"{\"file\": \"x/caf\\u00e9.webp\", \"box\": [1, 2, 3, 4]}",
		"café" BOX,
		"v1.2" BOX,
		"\xef\xbb\xbf"
		"a.jpg" BOX,
	};

	expect_each(&names, "boxes", ways, sizeof(ways) / sizeof(ways[0]), 1);
	assert_int_equal(look(&names, "boxes", "b.jpg" BOX "photo (1).jpg" BOX "7" BOX), 0);
}

TEST(images_are_counted_once)
{
	NAMES("a.jpg", "b.jpg", "A.png", "c.jpg");
	assert_int_equal(names.count, 3);
	assert_int_equal(look(&names, "boxes", "a" BOX "b" BOX "a" BOX "b.jpg" BOX), 2);
}

TEST(a_file_that_shares_a_name_is_about_that_image)
{
	NAMES("a.jpg", "1_leftImg8bit.png", "img_7.jpg");
	static const char *const sharing[] = {"a.json",		"x/a.txt",     "a",
					      "a.jpg.json",	"a_mask.json", "gt_a.txt",
					      "gt_img_7.txt",	"A-1.xml",     "1_polygons.json",
					      "1_gt_poly.json", "a.lines.txt"};
	static const char *const others[] = {"b.json", "aa.txt", "a/b.txt", "img_8.txt",
					     "2_x.json"};

	for (size_t i = 0; i < sizeof(sharing) / sizeof(sharing[0]); i++)
		if (look(&names, sharing[i], "10 20 300 200") != 1)
			fail_msg("%s", sharing[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (look(&names, others[i], "10 20 300 200") != 0)
			fail_msg("%s", others[i]);
}

TEST(as_many_places_as_images_are_about_them)
{
	NAMES("a.jpg", "b.jpg", "c.jpg");
	assert_int_equal(look(&names, "gt", "1" BOX "2" BOX), 0);
	assert_int_equal(look(&names, "gt", "1" BOX "2" BOX "9" BOX), 3);
}

TEST(numbers_in_a_row_are_a_place_if_two_are_over_1_and_none_is_a_fraction)
{
	NAMES("a.jpg");
	static const char *const places[] = {"1 2 3 4",
					     "0 0 2 2",
					     "-5 3 1e2 4.5",
					     "10. 20. 0 1",
					     "7;8;9;9",
					     "+1\t2\t3\t4",
					     "dog 1 2 3 4 cat",
					     "[[10.5, 20]]",
					     "(1, 2) (3, 4)",
					     "\"1 2 3 4\"",
					     "a b c='1 2 3 4'",
					     "a.jpg 1 2 3 4 b c d e f g",
					     "264661 17 264756 25"};
	static const char *const none[] = {"1 2 3",
					   "1 1 1 2",
					   "0.5 2 3 4",
					   "2 3 .5 4 5",
					   "9 70000 80000 1",
					   "1 2 dog 3 4",
					   "[10, 20]",
					   "1:2:3:4",
					   "2020-01-02 03 04",
					   "1.2.3.4 5",
					   "-- .. 1 2",
					   "b c d 1 2 3 4",
					   "\"1 2 3 4 b c d\"",
					   "((9, 9))",
					   "it's b's 1 2 3 4"};

	expect_each(&names, "a.txt", places, sizeof(places) / sizeof(places[0]), 1);
	expect_each(&names, "a.txt", none, sizeof(none) / sizeof(none[0]), 0);
}

TEST(names_that_differ_in_a_direction_make_a_place)
{
	NAMES("a.jpg");
	static const char *const places[] = {"x: 10\ny: 20",
					     "{\"xmin\": 0, \"xmax\": 9, \"ymin\": 8}",
					     "left=5 top=9",
					     "<b x1=\"1\" z=\"4\" y1=\"7\"/>",
					     "<cx>1</cx><cy>2</cy>",
					     "row,column\n5,9\n",
					     "n,x,y\ra,5,9\r",
					     "eye_x,eye_y\n5,9\n",
					     "#\nX- at,n,Y - at\n1,,9\n"};
	static const char *const none[] = {"x: 0.5\ny: 0.25",
					   "x: 10\nz: 20",
					   "x 10 y 20",
					   "xresolution: 72\nyresolution: 72",
					   "pixelxdimension: 9\npixelydimension: 8",
					   "bbox: 1\nbboy_: 2",
					   "height: 1\nweight: 2",
					   "x,y\ndog,cat\n",
					   "x: 1\ny: 0"};

	expect_each(&names, "a.txt", places, sizeof(places) / sizeof(places[0]), 1);
	expect_each(&names, "a.txt", none, sizeof(none) / sizeof(none[0]), 0);
}

TEST(what_is_no_text_is_not_read_on)
{
	NAMES("a.jpg");
	static const char binary[] = "1 2 3 4\0 5 6 7 8";

	assert_int_equal(images_of(&names, "a", binary, sizeof(binary), sizeof(binary)), 0);
	assert_int_equal(images_of(&names, "a", "", 0, 1), 0);
}

/* UTF-16 in both byte orders. */
TEST(a_text_of_wide_characters_is_read)
{
	NAMES("a.jpg");
	static const char text[] = "a.jpg 1 2 3 4\n";
	char wide[2 * sizeof(text) + 2];

	for (int big = 0; big < 2; big++) {
		memcpy(wide, big ? "\xfe\xff" : "\xff\xfe", 2);
		memset(wide + 2, 0, sizeof(wide) - 2);
		for (size_t i = 0; i + 1 < sizeof(text); i++)
			wide[2 + 2 * i + (size_t)big] = text[i];
		assert_int_equal(images_of(&names, "x", wide, 2 * sizeof(text), 2 * sizeof(text)),
				 1);
	}
}

TEST(a_text_without_an_end_of_words_is_read_in_parts)
{
	NAMES("a.jpg");
	size_t len = 300000;
	SCOPE_FREE char *text = malloc(len);

	assert_non_null(text);
	memset(text, 'x', len);
	memcpy(text + len - 8, "\n1 2 3 4", 8);
	assert_int_equal(images_of(&names, "a.txt", text, len, 1000), 1);
}
