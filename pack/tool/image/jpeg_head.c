#include "pack/tool/image/jpeg_head.h"

#include "base/scope.h"
#include "pack/tool/image/jpeg_trap.h"
#include "pack/tool/image/metadata.h"
#include <errno.h>

#define EXIF_XMP (JPEG_APP0 + 1)
#define PROFILE	 (JPEG_APP0 + 2)
#define LONGEST	 0xffff /* a segment */

#define TEXT_(x) #x
#define TEXT(x)	 TEXT_(x)

/* --- the size alone --------------------------------------------------------------------- */

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
	jpeg_trap_spring(jpeg->client_data, -ENODATA);
}

/* Reads up to the first scan. A head that ends between the frame header and the scan fails, but
 * has left the frame's size in the reader: whole once the number of components, which comes
 * after it, is there. */
static void read_size(struct jpeg_reader *reader, const uint8_t *data, size_t len)
{
	if (setjmp(reader->trap.jump))
		return;
	jpeg_reader_begin(reader, data, len);
	reader->jpeg.src->fill_input_buffer = end_of_head;
	(void)jpeg_read_header(&reader->jpeg, FALSE);
}

int jpeg_size(const uint8_t *data, size_t len, uint32_t *ret_width, uint32_t *ret_height)
{
	SCOPE(jpeg_reader_release) struct jpeg_reader reader = {0};
	const struct jpeg_decompress_struct *jpeg = &reader.jpeg;
	struct err err;

	reader.jpeg.err = jpeg_trap_init(&reader.trap, &err);
	reader.trap.manager.emit_message = ignore;
	if (len > 0)
		read_size(&reader, data, len);
	if (jpeg->image_width == 0 || jpeg->image_height == 0 || jpeg->num_components <= 0)
		return -EINVAL;
	*ret_width = jpeg->image_width;
	*ret_height = jpeg->image_height;
	return 0;
}

const char *jpeg_version(void)
{
	return TEXT(LIBJPEG_TURBO_VERSION);
}

/* --- all that stands before the pixels --------------------------------------------------- */

static int read_head(struct jpeg_reader *reader, const uint8_t *data, size_t len)
{
	if (setjmp(reader->trap.jump))
		return reader->trap.code;
	jpeg_reader_begin(reader, data, len);
	jpeg_save_markers(&reader->jpeg, EXIF_XMP, LONGEST);
	jpeg_save_markers(&reader->jpeg, PROFILE, LONGEST);
	(void)jpeg_read_header(&reader->jpeg, TRUE);
	return 0;
}

static enum jpeg_colour colour_of(const struct jpeg_decompress_struct *jpeg)
{
	switch (jpeg->jpeg_color_space) {
	case JCS_GRAYSCALE:
		return JPEG_GREY;
	case JCS_YCbCr:
	case JCS_RGB:
		return JPEG_COLOUR;
	default:
		return JPEG_OTHER;
	}
}

static bool is_kept(const struct jpeg_marker_struct *segment)
{
	if (segment->marker == PROFILE)
		return metadata_is_profile(segment->data, segment->data_length) &&
		       !metadata_is_srgb(segment->data, segment->data_length);
	return metadata_is_exif(segment->data, segment->data_length) ||
	       metadata_orientation(segment->data, segment->data_length) != 1;
}

static int keep_segment(struct buf *segments, const struct jpeg_marker_struct *segment)
{
	unsigned len = segment->data_length + 2; /* a segment's length counts itself */
	const uint8_t head[] = {0xff, segment->marker, (uint8_t)(len >> 8), (uint8_t)len};
	int r = buf_add(segments, head, sizeof(head));

	return r < 0 ? r : buf_add(segments, segment->data, segment->data_length);
}

/* The first segment that has an orientation decides, as EXIF comes before XMP. */
static int look_at_segments(const struct jpeg_reader *reader, struct jpeg_head *head)
{
	int r = 0;

	for (const struct jpeg_marker_struct *segment = reader->jpeg.marker_list; segment && r == 0;
	     segment = segment->next) {
		if (segment->marker == EXIF_XMP && head->orientation == 1)
			head->orientation =
				metadata_orientation(segment->data, segment->data_length);
		if (is_kept(segment))
			r = keep_segment(&head->segments, segment);
	}
	return r;
}

int jpeg_head_read(const uint8_t *data, size_t len, struct jpeg_head *ret, struct err *err)
{
	SCOPE(jpeg_reader_release) struct jpeg_reader reader = {0};
	SCOPE(jpeg_head_release) struct jpeg_head head = {.orientation = 1};
	int r;

	reader.jpeg.err = jpeg_trap_init(&reader.trap, err);
	r = read_head(&reader, data, len);
	if (r == 0)
		r = look_at_segments(&reader, &head);
	if (r < 0)
		return r;
	head.width = reader.jpeg.image_width;
	head.height = reader.jpeg.image_height;
	head.colour = colour_of(&reader.jpeg);
	head.baseline = !jpeg_has_multiple_scans(&reader.jpeg) && !reader.jpeg.arith_code;
	*ret = head;
	head.segments = BUF_INIT;
	return 0;
}

void jpeg_head_release(struct jpeg_head *head)
{
	buf_release(&head->segments);
}
