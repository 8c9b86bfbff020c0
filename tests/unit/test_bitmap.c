/* The headers of images that are stored decoded: pack/tool/image/bitmap.h. What follows them is
 * compared with PIL by tests/mount/test_transform.py. */
#include "pack/tool/image/bitmap.h"

#include "base/le.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <string.h>

TEST(what_is_written_has_the_size_of_the_picture_in_its_header)
{
	for (uint32_t channels = 1; channels <= 3; channels += 2) {
		struct pixels pixels = {0};
		struct buf file = BUF_INIT;
		struct bmp bmp;
		struct pnm pnm;

		assert_int_equal(pixels_init(&pixels, 5, 4, channels), 0);
		memset(pixels.data, 7, (size_t)5 * 4 * channels);
		assert_int_equal(bitmap_bmp(&pixels, &file), 0);
		assert_int_equal(bmp_header((uint8_t *)file.data, file.len, &bmp), 0);
		assert_true(bmp.width == 5 && bmp.height == 4);
		assert_int_equal(le_get32(file.data + 22), 4); /* from the bottom up */
		assert_int_equal(bmp.bits, 8 * channels);
		file.len = 0;
		assert_int_equal(bitmap_ppm(&pixels, &file), 0);
		assert_int_equal(pnm_header((uint8_t *)file.data, file.len, &pnm), 0);
		assert_true(pnm.width == 5 && pnm.height == 4 && pnm.channels == channels);
		assert_int_equal(file.len, pnm.samples + 5 * 4 * channels);
		pixels_release(&pixels);
		buf_release(&file);
	}
}

TEST(a_comment_in_a_header_is_passed_over)
{
	static const char file[] = "P5 # by hand\n2\t1 255\nab";
	struct pnm pnm;

	assert_int_equal(pnm_header((const uint8_t *)file, sizeof(file) - 1, &pnm), 0);
	assert_true(pnm.width == 2 && pnm.height == 1 && file[pnm.samples] == 'a');
}

TEST(what_is_no_header_is_refused)
{
	static const char *const files[] = {"",
					    "P",
					    "P7 1 1 255 a",
					    "P5 0 1 255 a",
					    "P5 1 99999999999 255 a",
					    "P6 4294967297 1 255 a"};
	struct pnm pnm;
	struct bmp bmp;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		assert_true(pnm_header((const uint8_t *)files[i], strlen(files[i]), &pnm) < 0);
	assert_int_equal(bmp_header((const uint8_t *)"BM", 2, &bmp), -ENODATA);
}
