#include "pack/tool/image/jpeg_optimize.h"

#include "base/scope.h"
#include "pack/tool/image/jpeg_trap.h"
#include <stdbool.h>
#include <string.h>

#define LONGEST 0xffff /* a segment */

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

/* libjpeg smooths progressive images of which not all bits of the lowest coefficients were sent:
 * coef_bits says how many are missing, -1 for all. */
static bool has_all_scans(const struct jpeg_decompress_struct *jpeg)
{
	if (!jpeg->progressive_mode)
		return true;
	for (int component = 0; component < jpeg->num_components; component++)
		for (int i = 0; i < DCTSIZE2; i++)
			if (jpeg->coef_bits[component][i] != 0)
				return false;
	return true;
}

static bool is_index_of_pictures(const struct jpeg_marker_struct *segment)
{
	return segment->marker == JPEG_APP0 + 2 && segment->data_length >= 4 &&
	       memcmp(segment->data, "MPF", 4) == 0;
}

static void write_segments(struct jpeg_compress_struct *jpeg,
			   const struct jpeg_marker_struct *segment)
{
	for (; segment; segment = segment->next)
		if (!is_index_of_pictures(segment))
			jpeg_write_marker(jpeg, segment->marker, segment->data,
					  segment->data_length);
}

/* JFIF's and Adobe's segments are among those that are copied: colours are described by the same
 * segments as before. */
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
	write_segments(to, from->marker_list);
	jpeg_finish_compress(to);
	return 0;
}

int jpeg_optimize(const uint8_t *data, size_t len, struct buf *out, struct err *err)
{
	SCOPE(optimizer_release) struct optimizer optimizer = {.writer.out = out};
	int r;

	optimizer.reader.jpeg.err = jpeg_trap_init(&optimizer.reader.trap, err);
	optimizer.writer.jpeg.err = jpeg_trap_init(&optimizer.writer.trap, err);
	r = read_coefficients(&optimizer, data, len);
	if (r < 0)
		return r;
	if (!has_all_scans(&optimizer.reader.jpeg))
		return err_set(err, 1, "a progressive JPEG without its last scans");
	return write_coefficients(&optimizer);
}
