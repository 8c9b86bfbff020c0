#include "pack/tool/image/jpeg.h"

#include "base/scope.h"
#include "pack/tool/image/check.h"
#include "pack/tool/image/jpeg_trap.h"
#include "pack/tool/image/tiff.h"
#include <errno.h>
#include <string.h>

#include <jerror.h>

#define OUT_ROOM (16 << 10) /* to begin with */

/* For those who read what the decoder can. */
static void ignore_message(j_common_ptr jpeg, int level)
{
	(void)jpeg;
	(void)level;
}

static void reader_init(struct jpeg_reader *reader, bool leniently, struct err *err)
{
	reader->jpeg.err = jpeg_trap_init(&reader->trap, err);
	if (leniently)
		reader->trap.manager.emit_message = ignore_message;
}

/* Whether the damage that libjpeg warned of is known to do no harm to any pixel. */
static bool is_usable(const uint8_t *data, size_t len)
{
	const struct bytes file = {.data = data, .len = len};
	struct check_finding finding;
	int r = check_jpeg(CHECK_DECODE, &file, &finding);

	return r == 0 ||
	       (r == 1 && finding.usable && strcmp(finding.damage, DAMAGE_NOT_DECODED) != 0);
}

/* --- writing -------------------------------------------------------------------------- */

struct jpeg_writer {
	struct jpeg_compress_struct jpeg;
	struct jpeg_trap trap;
	struct jpeg_destination_mgr destination;
	struct buf *out; /* borrowed; has the bytes after jpeg_finish_compress() */
};

/* jpeg_mem_dest() would leak its buffer if an error ends the writing. */
static void writer_begin(j_compress_ptr jpeg)
{
	struct jpeg_writer *writer = (struct jpeg_writer *)jpeg;
	struct buf *out = writer->out;

	if (buf_reserve(out, OUT_ROOM) < 0) {
		jpeg->err->msg_code = JERR_OUT_OF_MEMORY;
		jpeg->err->error_exit((j_common_ptr)jpeg);
	}
	writer->destination.next_output_byte = (JOCTET *)out->data + out->len;
	writer->destination.free_in_buffer = out->room - out->len;
}

/* Everything that was offered is full; free_in_buffer may not say so. */
static boolean writer_full(j_compress_ptr jpeg)
{
	struct buf *out = ((struct jpeg_writer *)jpeg)->out;

	out->len = out->room;
	writer_begin(jpeg);
	return TRUE;
}

static void writer_end(j_compress_ptr jpeg)
{
	struct jpeg_writer *writer = (struct jpeg_writer *)jpeg;

	writer->out->len = writer->out->room - writer->destination.free_in_buffer;
}

/* Begins to append to writer->out. To be called where jumps are caught. */
static void jpeg_writer_begin(struct jpeg_writer *writer)
{
	writer->jpeg.client_data = &writer->trap;
	jpeg_create_compress(&writer->jpeg);
	writer->destination.init_destination = writer_begin;
	writer->destination.empty_output_buffer = writer_full;
	writer->destination.term_destination = writer_end;
	writer->jpeg.dest = &writer->destination;
}

static void jpeg_writer_release(struct jpeg_writer *writer)
{
	jpeg_destroy_compress(&writer->jpeg);
}

#define EXIF_XMP (JPEG_APP0 + 1)
#define PROFILE	 (JPEG_APP0 + 2)
#define LONGEST	 0xffff /* a segment */

#define TEXT_(x) #x
#define TEXT(x)	 TEXT_(x)

/* --- the size alone --------------------------------------------------------------------- */

/* At the end of the bytes libjpeg would go on with an end-of-image marker again and again, and read
 * sizes from that. */
static boolean end_of_head(j_decompress_ptr jpeg)
{
	jpeg_trap_spring(jpeg->client_data, -ENODATA);
}

/* Reads up to the first scan. A head that ends between the frame header and the scan fails, but
 * leaves the size of the frame in the reader. The size is complete once the number of components is
 * there, which comes after it. */
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

	reader_init(&reader, true, &err);
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

/* --- segments beside the pixels -------------------------------------------------------------- */

#define ORIENTATION  0x0112
#define ORIENTATIONS 8

static const char exif_magic[] = "Exif\0";
static const char xmp_magic[] = "http://ns.adobe.com/xap/1.0/";
static const char profile_magic[] = "ICC_PROFILE";

/* The NUL at the end of the magic counts. */
static bool begins(const uint8_t *payload, size_t len, const char *magic, size_t size)
{
	return len >= size && memcmp(payload, magic, size) == 0;
}

static bool is_exif(const uint8_t *payload, size_t len)
{
	return begins(payload, len, exif_magic, sizeof(exif_magic));
}

static bool is_profile(const uint8_t *payload, size_t len)
{
	return begins(payload, len, profile_magic, sizeof(profile_magic));
}

/* What the payload of an APP1 segment asks for, in EXIF or as text in XMP: 2 to 8 if the picture is
 * to be turned or mirrored, 1 if not or if it does not say. */
static unsigned orientation_of(const uint8_t *payload, size_t len)
{
	static const char name[] = "tiff:Orientation";
	const uint8_t *end = payload + len, *at;
	uint64_t found = 1;

	if (is_exif(payload, len)) { /* a TIFF file: the first directory has it */
		const struct bytes exif = {.data = payload + sizeof(exif_magic),
					   .len = len - sizeof(exif_magic)};
		struct tiff tiff;

		if (tiff_begins(&exif, &tiff))
			found = tiff_number(&tiff, tiff_directory(&tiff), ORIENTATION);
	} else if (begins(payload, len, xmp_magic, sizeof(xmp_magic))) {
		/* tiff:Orientation="6", or <tiff:Orientation>6. */
		at = memmem(payload, len, name, sizeof(name) - 1);
		at = at ? at + sizeof(name) - 1 : end;
		while (at < end && (*at == '=' || *at == '"' || *at == '\'' || *at == '>'))
			at++;
		if (at < end && *at >= '0' && *at <= '9')
			found = (uint64_t)*at - '0';
	}
	return found >= 1 && found <= ORIENTATIONS ? (unsigned)found : 1;
}

/* Whether the payload is a complete colour profile, and that of sRGB. Readers take images without a
 * profile for sRGB, too. A profile is a header of 128 bytes, a count, and as many tags with name,
 * offset and size. The description of version 2 is "desc", four bytes, the length of the text, the
 * text. */
static bool is_srgb(const uint8_t *payload, size_t len)
{
	static const char name[] = "sRGB IEC61966-2.1";
	const size_t head = sizeof(profile_magic) + 2; /* number of the part, and of all */
	struct bytes profile = {.big = true};
	uint32_t tags;

	if (!is_profile(payload, len) || len < head || payload[head - 1] != 1)
		return false;
	profile.data = payload + head;
	profile.len = len - head;
	tags = bytes_get(&profile, 128, 4);
	for (size_t i = 0, at = 132; i < tags && at < profile.len; i++, at += 12) {
		size_t value = bytes_get(&profile, at + 4, 4);

		if (bytes_get(&profile, at, 4) == 0x64657363)
			return bytes_get(&profile, value, 4) == 0x64657363 &&
			       bytes_get(&profile, value + 8, 4) == sizeof(name) &&
			       bytes_are(&profile, value + 12, name, sizeof(name));
	}
	return false;
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

/* The first segment with an orientation decides, since EXIF comes before XMP. */
static int look_at_segments(const struct jpeg_reader *reader, struct jpeg_head *head)
{
	int r = 0;

	for (const struct jpeg_marker_struct *segment = reader->jpeg.marker_list; segment && r == 0;
	     segment = segment->next) {
		const uint8_t *data = segment->data;
		size_t len = segment->data_length, all = 2 + len; /* a length counts itself */
		const uint8_t start[] = {0xff, segment->marker, (uint8_t)(all >> 8), (uint8_t)all};
		unsigned orientation = orientation_of(data, len);

		if (segment->marker == EXIF_XMP && head->orientation == 1)
			head->orientation = orientation;
		if (segment->marker == PROFILE ? !is_profile(data, len) || is_srgb(data, len)
					       : !is_exif(data, len) && orientation == 1)
			continue;
		buf_add(&head->segments, start, sizeof(start));
		r = buf_add(&head->segments, data, len);
	}
	return r;
}

int jpeg_head_read(const uint8_t *data, size_t len, struct jpeg_head *ret, struct err *err)
{
	SCOPE(jpeg_reader_release) struct jpeg_reader reader = {0};
	SCOPE(jpeg_head_release) struct jpeg_head head = {.orientation = 1};
	int r;

	reader_init(&reader, true, err);
	r = read_head(&reader, data, len);
	if (r == 0)
		r = look_at_segments(&reader, &head);
	if (r < 0)
		return r;
	head.width = reader.jpeg.image_width;
	head.height = reader.jpeg.image_height;
	switch (reader.jpeg.jpeg_color_space) {
	case JCS_GRAYSCALE:
		head.colour = JPEG_GREY;
		break;
	case JCS_YCbCr:
	case JCS_RGB:
		head.colour = JPEG_COLOUR;
		break;
	case JCS_CMYK:
	case JCS_YCCK:
		head.colour = JPEG_CMYK;
		break;
	default:
		head.colour = JPEG_OTHER;
	}
	head.ycck = reader.jpeg.jpeg_color_space == JCS_YCCK;
	head.baseline = !jpeg_has_multiple_scans(&reader.jpeg) && !reader.jpeg.arith_code;
	*ret = head;
	head.segments = BUF_INIT;
	return 0;
}

void jpeg_head_release(struct jpeg_head *head)
{
	buf_release(&head->segments);
}

/* --- decoding ---------------------------------------------------------------------------- */

static J_COLOR_SPACE space_of(unsigned channels)
{
	if (channels == 1)
		return JCS_GRAYSCALE;
	return channels == 4 ? JCS_CMYK : JCS_RGB;
}

/* Finishing reads to the end of the image, so it finds what is cut off. */
static int decode_trapped(struct jpeg_reader *reader, const uint8_t *data, size_t len,
			  uint32_t shrink, struct pixels *pixels)
{
	struct jpeg_decompress_struct *jpeg = &reader->jpeg;

	if (setjmp(reader->trap.jump))
		return reader->trap.code;
	jpeg_reader_begin(reader, data, len);
	(void)jpeg_read_header(jpeg, TRUE);
	jpeg->out_color_space = space_of((unsigned)jpeg->num_components);
	jpeg->scale_num = 1;
	jpeg->scale_denom = shrink;
	(void)jpeg_start_decompress(jpeg);
	if (pixels_init(pixels, jpeg->output_width, jpeg->output_height,
			(uint32_t)jpeg->output_components) < 0)
		return -ENOMEM;
	while (jpeg->output_scanline < jpeg->output_height) {
		JSAMPROW row = pixels_row(pixels, jpeg->output_scanline);

		(void)jpeg_read_scanlines(jpeg, &row, 1);
	}
	(void)jpeg_finish_decompress(jpeg);
	return 0;
}

static int decode_jpeg(const uint8_t *data, size_t len, uint32_t shrink, bool leniently,
		       struct pixels *ret, struct err *err)
{
	SCOPE(jpeg_reader_release) struct jpeg_reader reader = {0};
	SCOPE(pixels_release) struct pixels pixels = {0};
	int r;

	reader_init(&reader, leniently, err);
	r = decode_trapped(&reader, data, len, shrink, &pixels);
	if (r < 0)
		return r;
	*ret = pixels;
	pixels = (struct pixels){0};
	return 0;
}

int jpeg_decode(const uint8_t *data, size_t len, uint32_t shrink, struct pixels *ret,
		struct err *err)
{
	int r = decode_jpeg(data, len, shrink, false, ret, err);

	return r == -EBADMSG && is_usable(data, len)
		       ? decode_jpeg(data, len, shrink, true, ret, err)
		       : r;
}

/* --- encoding ---------------------------------------------------------------------------- */

static int encode_trapped(struct jpeg_writer *writer, const struct pixels *pixels, uint32_t quality,
			  bool ycck, const struct buf *segments)
{
	struct jpeg_compress_struct *jpeg = &writer->jpeg;

	if (setjmp(writer->trap.jump))
		return writer->trap.code;
	jpeg_writer_begin(writer);
	jpeg->image_width = pixels->width;
	jpeg->image_height = pixels->height;
	jpeg->input_components = (int)pixels->channels;
	jpeg->in_color_space = space_of(pixels->channels);
	jpeg_set_defaults(jpeg);
	if (ycck)
		jpeg_set_colorspace(jpeg, JCS_YCCK);
	jpeg_set_quality(jpeg, (int)quality, TRUE);
	jpeg->optimize_coding = TRUE;
	jpeg_start_compress(jpeg, TRUE);
	for (size_t at = 0, len; at < segments->len; at += 2 + len) {
		const uint8_t *segment = (const uint8_t *)segments->data + at;

		len = (size_t)segment[2] << 8 | segment[3]; /* counts itself */
		jpeg_write_marker(jpeg, segment[1], segment + 4, (unsigned)len - 2);
	}
	while (jpeg->next_scanline < jpeg->image_height) {
		JSAMPROW row = pixels_row(pixels, jpeg->next_scanline);

		(void)jpeg_write_scanlines(jpeg, &row, 1);
	}
	jpeg_finish_compress(jpeg);
	return 0;
}

int jpeg_encode(const struct pixels *pixels, uint32_t quality, bool ycck,
		const struct buf *segments, struct buf *out, struct err *err)
{
	SCOPE(jpeg_writer_release) struct jpeg_writer writer = {.out = out};
	int r;

	writer.jpeg.err = jpeg_trap_init(&writer.trap, err);
	r = encode_trapped(&writer, pixels, quality, ycck, segments);
	return r == -EBADMSG ? -EINVAL : r; /* pixels are never damaged */
}

/* --- the same pixels --------------------------------------------------------------------- */

/* Both ends, so that a jump out of either finds them. */
struct optimizer {
	struct jpeg_reader reader;
	struct jpeg_writer writer;
	jvirt_barray_ptr *coefficients; /* the reader's */
};

static void optimizer_release(struct optimizer *optimizer)
{
	jpeg_writer_release(&optimizer->writer);
	jpeg_reader_release(&optimizer->reader);
}

static int read_coefficients(struct optimizer *optimizer, const uint8_t *data, size_t len)
{
	struct jpeg_reader *reader = &optimizer->reader;

	if (setjmp(reader->trap.jump))
		return reader->trap.code;
	jpeg_reader_begin(reader, data, len);
	jpeg_save_markers(&reader->jpeg, JPEG_COM, LONGEST);
	for (int app = 0; app < 16; app++)
		jpeg_save_markers(&reader->jpeg, JPEG_APP0 + app, LONGEST);
	(void)jpeg_read_header(&reader->jpeg, TRUE);
	optimizer->coefficients = jpeg_read_coefficients(&reader->jpeg);
	return 0;
}

/* The segments of JFIF and Adobe are among those that are copied, so the same segments as before
 * describe the colours. */
static int write_coefficients(struct optimizer *optimizer)
{
	struct jpeg_decompress_struct *from = &optimizer->reader.jpeg;
	struct jpeg_compress_struct *to = &optimizer->writer.jpeg;

	if (setjmp(optimizer->writer.trap.jump))
		return optimizer->writer.trap.code;
	jpeg_writer_begin(&optimizer->writer);
	jpeg_copy_critical_parameters(from, to);
	to->optimize_coding = TRUE;
	to->write_JFIF_header = FALSE;
	to->write_Adobe_marker = FALSE;
	jpeg_write_coefficients(to, optimizer->coefficients);
	for (const struct jpeg_marker_struct *segment = from->marker_list; segment;
	     segment = segment->next) {
		bool index = segment->marker == JPEG_APP0 + 2 && segment->data_length >= 4 &&
			     memcmp(segment->data, "MPF", 4) == 0; /* of further pictures */

		if (!index)
			jpeg_write_marker(to, segment->marker, segment->data, segment->data_length);
	}
	jpeg_finish_compress(to);
	return 0;
}

static int optimize_jpeg(const uint8_t *data, size_t len, bool leniently, struct buf *out,
			 struct err *err)
{
	SCOPE(optimizer_release) struct optimizer optimizer = {.writer.out = out};
	int r;

	reader_init(&optimizer.reader, leniently, err);
	optimizer.writer.jpeg.err = jpeg_trap_init(&optimizer.writer.trap, err);
	r = read_coefficients(&optimizer, data, len);
	if (r < 0)
		return r;
	if (jpeg_lacks_scans(&optimizer.reader.jpeg))
		return err_set(err, 1, "a progressive JPEG without its last scans");
	return write_coefficients(&optimizer);
}

int jpeg_optimize(const uint8_t *data, size_t len, struct buf *out, struct err *err)
{
	int r = optimize_jpeg(data, len, false, out, err);

	return r == -EBADMSG && is_usable(data, len) ? optimize_jpeg(data, len, true, out, err) : r;
}
