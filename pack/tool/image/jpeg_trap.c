#include "pack/tool/image/jpeg_trap.h"

#include <errno.h>
#include <string.h>

#include <jerror.h>

#define MEMORY	 (1L << 30)
#define OUT_ROOM (16 << 10) /* to begin with */

/* --- failures ------------------------------------------------------------------------- */

static int code_of(int message)
{
	switch (message) {
	case JERR_OUT_OF_MEMORY:
		return -ENOMEM;
	case JERR_NO_BACKING_STORE:
		return -EFBIG;
	case JERR_ARITH_NOTIMPL:
	case JERR_BAD_PRECISION:
	case JERR_CCIR601_NOTIMPL:
	case JERR_COMPONENT_COUNT:
	case JERR_CONVERSION_NOTIMPL:
	case JERR_FRACT_SAMPLE_NOTIMPL:
	case JERR_NOT_COMPILED:
	case JERR_SOF_UNSUPPORTED:
		return -ENOTSUP;
	default:
		return -EBADMSG;
	}
}

void jpeg_trap_spring(struct jpeg_trap *trap, int code)
{
	trap->code = code;
	longjmp(trap->jump, 1);
}

__attribute__((noreturn)) static void trap_error(j_common_ptr jpeg)
{
	struct jpeg_trap *trap = jpeg->client_data;
	char text[JMSG_LENGTH_MAX];
	int code;

	jpeg->err->format_message(jpeg, text);
	code = code_of(jpeg->err->msg_code);
	if (code == -EFBIG)
		err_set(trap->err, code, "takes over 1 GiB of memory to decode");
	else
		err_set(trap->err, code, "libjpeg: %s", text);
	jpeg_trap_spring(trap, code);
}

static void trap_message(j_common_ptr jpeg, int level)
{
	if (level < 0)
		trap_error(jpeg);
}

struct jpeg_error_mgr *jpeg_trap_init(struct jpeg_trap *trap, struct err *err)
{
	trap->err = err;
	jpeg_std_error(&trap->manager);
	trap->manager.error_exit = trap_error;
	trap->manager.emit_message = trap_message;
	return &trap->manager;
}

/* --- reading -------------------------------------------------------------------------- */

static void trap_progress(j_common_ptr jpeg)
{
	struct jpeg_trap *trap = jpeg->client_data;
	int scan = ((j_decompress_ptr)jpeg)->input_scan_number;

	if (scan <= JPEG_SCANS)
		return;
	jpeg_trap_spring(trap, err_set(trap->err, -EBADMSG, "more than %d scans", JPEG_SCANS));
}

void jpeg_reader_begin(struct jpeg_reader *reader, const uint8_t *data, size_t len)
{
	reader->jpeg.client_data = &reader->trap;
	jpeg_create_decompress(&reader->jpeg);
	reader->jpeg.mem->max_memory_to_use = MEMORY; /* there is no backing store */
	reader->progress.progress_monitor = trap_progress;
	reader->jpeg.progress = &reader->progress;
	jpeg_mem_src(&reader->jpeg, data, (unsigned long)len);
}

void jpeg_reader_release(struct jpeg_reader *reader)
{
	jpeg_destroy_decompress(&reader->jpeg);
}

/* --- writing -------------------------------------------------------------------------- */

/* jpeg_mem_dest() would leak its buffer where an error ends the writing. */
static void writer_offer(j_compress_ptr jpeg, size_t room)
{
	struct jpeg_writer *writer = (struct jpeg_writer *)jpeg;
	struct buf *out = writer->out;

	if (buf_reserve(out, room) < 0) {
		jpeg->err->msg_code = JERR_OUT_OF_MEMORY;
		jpeg->err->error_exit((j_common_ptr)jpeg);
	}
	writer->destination.next_output_byte = (JOCTET *)out->data + out->len;
	writer->destination.free_in_buffer = out->room - out->len;
}

static void writer_begin(j_compress_ptr jpeg)
{
	writer_offer(jpeg, OUT_ROOM);
}

/* All that was offered is full; free_in_buffer need not say so. */
static boolean writer_full(j_compress_ptr jpeg)
{
	struct buf *out = ((struct jpeg_writer *)jpeg)->out;

	out->len = out->room;
	writer_offer(jpeg, OUT_ROOM);
	return TRUE;
}

static void writer_end(j_compress_ptr jpeg)
{
	struct jpeg_writer *writer = (struct jpeg_writer *)jpeg;

	writer->out->len = writer->out->room - writer->destination.free_in_buffer;
}

void jpeg_writer_begin(struct jpeg_writer *writer)
{
	writer->jpeg.client_data = &writer->trap;
	jpeg_create_compress(&writer->jpeg);
	writer->destination.init_destination = writer_begin;
	writer->destination.empty_output_buffer = writer_full;
	writer->destination.term_destination = writer_end;
	writer->jpeg.dest = &writer->destination;
}

void jpeg_writer_release(struct jpeg_writer *writer)
{
	jpeg_destroy_compress(&writer->jpeg);
}
