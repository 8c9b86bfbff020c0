#include "pack/tool/image/jpeg_decode.h"

#include "base/scope.h"
#include "pack/tool/image/jpeg_trap.h"

/* Rows are decoded where they are to be. */
static void read_rows(struct jpeg_reader *reader, struct pixels *pixels)
{
	while (reader->jpeg.output_scanline < reader->jpeg.output_height) {
		JSAMPROW row = pixels_row(pixels, reader->jpeg.output_scanline);

		(void)jpeg_read_scanlines(&reader->jpeg, &row, 1);
	}
}

/* Finishing reads up to the end of the image: what is cut off shows there at the latest. */
static int decode_pixels(struct jpeg_reader *reader, uint32_t shrink, struct pixels *pixels)
{
	struct jpeg_decompress_struct *jpeg = &reader->jpeg;
	int r;

	(void)jpeg_read_header(jpeg, TRUE);
	jpeg->out_color_space = jpeg->num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
	jpeg->scale_num = 1;
	jpeg->scale_denom = shrink;
	(void)jpeg_start_decompress(jpeg);
	r = pixels_init(pixels, jpeg->output_width, jpeg->output_height,
			(uint32_t)jpeg->output_components);
	if (r < 0)
		return r;
	read_rows(reader, pixels);
	(void)jpeg_finish_decompress(jpeg);
	return 0;
}

static int decode_trapped(struct jpeg_reader *reader, const uint8_t *data, size_t len,
			  uint32_t shrink, struct pixels *pixels)
{
	if (setjmp(reader->trap.jump))
		return reader->trap.code;
	jpeg_reader_begin(reader, data, len);
	return decode_pixels(reader, shrink, pixels);
}

int jpeg_decode(const uint8_t *data, size_t len, uint32_t shrink, struct pixels *ret,
		struct err *err)
{
	SCOPE(jpeg_reader_release) struct jpeg_reader reader = {0};
	SCOPE(pixels_release) struct pixels pixels = {0};
	int r;

	reader.jpeg.err = jpeg_trap_init(&reader.trap, err);
	r = decode_trapped(&reader, data, len, shrink, &pixels);
	if (r < 0)
		return r;
	*ret = pixels;
	pixels = (struct pixels){0};
	return 0;
}
