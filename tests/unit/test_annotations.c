/* Files that say where in an image things are: pack/tool/image/annotations.h. */
#include "base/scope.h"
#include "pack/tool/image/annotations.h"
#include "tests/unit/test.h"
#include <string.h>

static enum annotations_kind look(const char *path, const char *text)
{
	size_t len = strlen(text);
	SCOPE_FREE uint8_t *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, text, len);
	return annotations_look(path, copy, len);
}

TEST(coco_is_known_by_boxes_or_by_the_sizes_of_images)
{
	assert_int_equal(look("annotations/val.json",
			      "{\"annotations\": [{\"image_id\": 1, \"bbox\": [1, 2, 3, 4]"),
			 ANNOTATIONS_COCO);
	assert_int_equal(look("instances.JSON",
			      "\n{\"info\": {}, \"images\": [{\"license\": 4, \"file_name\": "
			      "\"1.jpg\", \"height\": 427, \"width\": 640, \"id\": 1}, {\"lic"),
			 ANNOTATIONS_COCO);
	assert_int_equal(look("results.json", "[{\"image_id\":42,\"bbox\":[258.15,41.29"),
			 ANNOTATIONS_COCO);
	assert_int_equal(look("classes.json", "{\"0\": [\"n01440764\", \"tench\"]}"),
			 ANNOTATIONS_NONE);
	assert_int_equal(look("strange.json", "there is a \"bbox\" in here"), ANNOTATIONS_NONE);
	assert_int_equal(look("empty.json", "  "), ANNOTATIONS_NONE);
}

TEST(voc_is_known_by_its_boxes)
{
	assert_int_equal(look("Annotations/1.xml",
			      "<annotation>\n<size><width>500</width></size>\n<object>"
			      "<bndbox><xmin>8</xmin>"),
			 ANNOTATIONS_VOC);
	assert_int_equal(look("1.xml", "<annotation><folder>VOC</folder></annotation>"),
			 ANNOTATIONS_NONE);
	assert_int_equal(look("pom.xml", "<project><bndbox/></project>"), ANNOTATIONS_NONE);
	assert_int_equal(look("1.xml", ""), ANNOTATIONS_NONE);
}

TEST(yolo_is_known_by_lines_of_shares)
{
	assert_int_equal(look("labels/1.txt", "45 0.479492 0.688771 0.955609 0.5955\n"),
			 ANNOTATIONS_YOLO);
	assert_int_equal(look("1.txt", "45 0.4 0.6 0.9 0.5\r\n\r\n0 1 1.0 .25 3e-05\r\n"),
			 ANNOTATIONS_YOLO);
	assert_int_equal(look("1.txt", "0 0.5 0.5 0.1 0.1"), ANNOTATIONS_YOLO);
	assert_int_equal(look("outline.txt", "0 0.1 0.1 0.2 0.1 0.2 0.2 0.1 0.2\n"),
			 ANNOTATIONS_YOLO);
	assert_int_equal(look("cut.txt", "0 0.1 0.1 0.2 0.1\n0 0.3 0."), ANNOTATIONS_YOLO);
}

TEST(other_texts_are_no_annotations)
{
	static const char *const texts[] = {
		"",
		"\n\n",
		"n01440764 tench\n",
		"train/a.jpg\ntrain/b.jpg\n",
		"0 0 1 0 1\n1 0 0 0 1\n",
		"1 0.5 0.5 0.1\n",
		"1 20.5 3.5 0.1 0.1\n",
		"1 2.5 0.5 0.1 0.1\n",
		"1 0.5 0.5 0.1 -0.1\n",
		"1 0.5 0.5 0.1 0.1 dog\n",
		"1.5 0.5 0.5 0.1 0.1\n",
		"1 0.5 0.5 0.1 0.1\nand more\n",
		"1 . . . .\n",
		"1 0.5e 0.5 0.5x 1\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (look("a.txt", texts[i]) != ANNOTATIONS_NONE)
			fail_msg("%s", texts[i]);
}

TEST(only_names_that_fit_are_looked_into)
{
	assert_true(annotations_may_be("a/b.json"));
	assert_true(annotations_may_be("a/b.Txt"));
	assert_false(annotations_may_be("a/b.jpg"));
	assert_false(annotations_may_be("a.json/b"));
	assert_false(annotations_may_be("README"));
	assert_int_equal(look("a.jpg", "0 0.5 0.5 0.1 0.1\n"), ANNOTATIONS_NONE);
	assert_string_equal(annotations_name(ANNOTATIONS_COCO), "COCO JSON");
	assert_null(annotations_name(ANNOTATIONS_NONE));
}
