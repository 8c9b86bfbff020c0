#include "pack/tool/image/jpeg_head.h"

#include "base/scope.h"
#include "pack/tool/image/jpeg_trap.h"
#include "pack/tool/image/metadata.h"

#define EXIF_XMP (JPEG_APP0 + 1)
#define PROFILE	 (JPEG_APP0 + 2)
#define LONGEST	 0xffff /* a segment */

static int read_header(struct jpeg_reader *reader, const uint8_t *data, size_t len)
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

static int keep(struct buf *segments, const struct jpeg_marker_struct *segment)
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
			r = keep(&head->segments, segment);
	}
	return r;
}

int jpeg_head_read(const uint8_t *data, size_t len, struct jpeg_head *ret, struct err *err)
{
	SCOPE(jpeg_reader_release) struct jpeg_reader reader = {0};
	SCOPE(jpeg_head_release) struct jpeg_head head = {.orientation = 1};
	int r;

	reader.jpeg.err = jpeg_trap_init(&reader.trap, err);
	r = read_header(&reader, data, len);
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
