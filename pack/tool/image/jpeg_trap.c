#include "pack/tool/image/jpeg_trap.h"
#include <errno.h>

#include <jerror.h>

#define MEMORY (1L << 30)

int jpeg_trap_code(int message)
{
	switch (message) {
	case JERR_OUT_OF_MEMORY:
		return -ENOMEM;
	case JERR_NO_BACKING_STORE:
		return -EFBIG;
#if JPEG_LIB_VERSION < 70 /* later ones have it */
	case JERR_ARITH_NOTIMPL:
#endif
	case JERR_BAD_PRECISION:
	case JERR_CCIR601_NOTIMPL:
	case JERR_COMPONENT_COUNT:
	case JERR_CONVERSION_NOTIMPL:
	case JERR_FRACT_SAMPLE_NOTIMPL:
	case JERR_MISMATCHED_QUANT_TABLE:
	case JERR_NOT_COMPILED:
	case JERR_NOTIMPL:
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
	code = jpeg_trap_code(jpeg->err->msg_code);
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

/* libjpeg smooths progressive images that lack some bits of the lowest coefficients. coef_bits says
 * how many bits are missing, -1 for all. */
bool jpeg_lacks_scans(const struct jpeg_decompress_struct *jpeg)
{
	for (int component = 0; jpeg->coef_bits && component < jpeg->num_components; component++)
		for (int i = 0; i < DCTSIZE2; i++)
			if (jpeg->coef_bits[component][i] != 0)
				return true;
	return false;
}
