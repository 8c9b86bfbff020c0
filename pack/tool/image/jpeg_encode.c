#include "pack/tool/image/jpeg_encode.h"

#include "base/scope.h"
#include "pack/tool/image/jpeg_trap.h"

static void set_image(struct jpeg_compress_struct *jpeg, const struct pixels *pixels,
		      uint32_t quality)
{
	jpeg->image_width = pixels->width;
	jpeg->image_height = pixels->height;
	jpeg->input_components = (int)pixels->channels;
	jpeg->in_color_space = pixels->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
	jpeg_set_defaults(jpeg);
	jpeg_set_quality(jpeg, (int)quality, TRUE);
	jpeg->optimize_coding = TRUE;
}

static void write_kept_segments(struct jpeg_compress_struct *jpeg, const struct buf *segments)
{
	const uint8_t *at = (const uint8_t *)segments->data;
	const uint8_t *end = at + segments->len;

	while (at < end) {
		unsigned len = (unsigned)at[2] << 8 | at[3]; /* counts itself */

		jpeg_write_marker(jpeg, at[1], at + 4, len - 2);
		at += 2 + len;
	}
}

static void write_rows(struct jpeg_compress_struct *jpeg, const struct pixels *pixels)
{
	while (jpeg->next_scanline < jpeg->image_height) {
		JSAMPROW row = pixels_row(pixels, jpeg->next_scanline);

		(void)jpeg_write_scanlines(jpeg, &row, 1);
	}
}

static int encode_trapped(struct jpeg_writer *writer, const struct pixels *pixels, uint32_t quality,
			  const struct buf *segments)
{
	if (setjmp(writer->trap.jump))
		return writer->trap.code;
	jpeg_writer_begin(writer);
	set_image(&writer->jpeg, pixels, quality);
	jpeg_start_compress(&writer->jpeg, TRUE);
	write_kept_segments(&writer->jpeg, segments);
	write_rows(&writer->jpeg, pixels);
	jpeg_finish_compress(&writer->jpeg);
	return 0;
}

int jpeg_encode(const struct pixels *pixels, uint32_t quality, const struct buf *segments,
		struct buf *out, struct err *err)
{
	SCOPE(jpeg_writer_release) struct jpeg_writer writer = {.out = out};

	writer.jpeg.err = jpeg_trap_init(&writer.trap, err);
	return encode_trapped(&writer, pixels, quality, segments);
}
