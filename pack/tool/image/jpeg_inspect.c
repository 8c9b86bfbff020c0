#include "pack/tool/image/jpeg_inspect.h"

#include <errno.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>

#include <jpeglib.h>

#define TEXT_(x) #x
#define TEXT(x)	 TEXT_(x)

/* libjpeg reports a failure by a call that must not return: error_exit jumps back here. This
 * is the only place that knows about it. */
struct reader {
	struct jpeg_decompress_struct jpeg;
	struct jpeg_error_mgr errors;
	jmp_buf failed;
};

static void fail(j_common_ptr jpeg)
{
	struct reader *reader = jpeg->client_data;

	longjmp(reader->failed, 1);
}

/* Warnings and traces about damaged data: nobody wants them here. */
static void ignore(j_common_ptr jpeg, int level)
{
	(void)jpeg;
	(void)level;
}

/* At the end of the bytes libjpeg would go on with an end-of-image marker as often as it takes,
 * and read sizes from that. */
static boolean end_of_head(j_decompress_ptr jpeg)
{
	fail((j_common_ptr)jpeg);
	return FALSE;
}

/* Reads up to the first scan. A head that ends between the frame header and the scan fails,
 * but has left the frame's size in reader->jpeg: whole once the number of components, which
 * comes behind it, is there. */
static bool read_header(struct reader *reader, const uint8_t *data, size_t len)
{
	if (setjmp(reader->failed))
		return false;
	jpeg_create_decompress(&reader->jpeg);
	jpeg_mem_src(&reader->jpeg, data, (unsigned long)len);
	reader->jpeg.src->fill_input_buffer = end_of_head;
	return jpeg_read_header(&reader->jpeg, FALSE) == JPEG_HEADER_OK;
}

int jpeg_inspect(const uint8_t *data, size_t len, uint32_t *ret_width, uint32_t *ret_height)
{
	struct reader reader = {0};
	uint32_t width, height;
	int components;

	if (len == 0)
		return -EINVAL;
	reader.jpeg.client_data = &reader;
	reader.jpeg.err = jpeg_std_error(&reader.errors);
	reader.errors.error_exit = fail;
	reader.errors.emit_message = ignore;
	(void)read_header(&reader, data, len);
	width = reader.jpeg.image_width;
	height = reader.jpeg.image_height;
	components = reader.jpeg.num_components;
	jpeg_destroy_decompress(&reader.jpeg);
	if (width == 0 || height == 0 || components <= 0)
		return -EINVAL;
	*ret_width = width;
	*ret_height = height;
	return 0;
}

const char *jpeg_version(void)
{
	return TEXT(LIBJPEG_TURBO_VERSION);
}
