/* Damage shows in the entropy coding: bytes that fit no Huffman code, that end too early, or that
 * are left over. So this reads the coefficients, and turns only the first one of each block into
 * pixels (scale 1/8), which takes three quarters of the time. */
#include "pack/tool/image/check.h"

#include "pack/tool/image/jpeg_trap.h"
#include <errno.h>
#include <string.h>

#include <jerror.h>

/* Some encoders leave a byte or two between scan and marker, or zeros. Other bytes mean that the
 * decoder has lost its way. It may have taken that many of the zeros before it saw the end. */
#define STRAY_BYTES 4
#define TAKEN_BYTES 8

#define SOS 0xda /* marker of a scan: coded data follow */

#define TEXT_BYTES sizeof(((struct check_finding *)NULL)->text)

enum verdict { GOOD, USABLE, BAD };

struct checker {
	struct jpeg_reader reader; /* first, and libjpeg's struct first in it */
	enum check_level level;
	enum { IN_HEADER, IN_SCANS, IN_ROWS } part;
	bool has_eoi; /* after the first scan */
	bool ended;   /* libjpeg asked for more than there is */
	bool padded;  /* in place of the end of the image are zeros */
	enum verdict verdict;
	struct check_finding *finding; /* written where the verdict is USABLE or BAD */
	const uint8_t *data, *end;
	const uint8_t *scan; /* where the coded data of the first scan begin */
};

/* --- verdicts ------------------------------------------------------------------------- */

__attribute__((noreturn)) static void decide(struct checker *checker, enum verdict verdict)
{
	checker->verdict = verdict;
	jpeg_trap_spring(&checker->reader.trap, 1);
}

#define fail(checker, damage, ...)                                           \
	do {                                                                 \
		check_found((checker)->finding, damage, false, __VA_ARGS__); \
		decide(checker, BAD);                                        \
	} while (0)

/* How far the decoder came. If there are several scans, rows come out at the end of all of them.
 * Returns text. */
static const char *place_text(const struct checker *checker, char text[TEXT_BYTES])
{
	const struct jpeg_decompress_struct *jpeg = &checker->reader.jpeg;
	unsigned rows = jpeg->output_scanline * 8;

	if (checker->part == IN_HEADER)
		snprintf(text, TEXT_BYTES, "in the header");
	else if (checker->part == IN_SCANS)
		snprintf(text, TEXT_BYTES, "in scan %d", jpeg->input_scan_number);
	else
		snprintf(text, TEXT_BYTES, "near row %u of %u",
			 rows < jpeg->image_height ? rows : jpeg->image_height, jpeg->image_height);
	return text;
}

/* The message of libjpeg, without what the class of damage says already. Returns text. */
static const char *reason_text(const struct checker *checker, char text[JMSG_LENGTH_MAX])
{
	static const char said[] = "Corrupt JPEG data: ";
	j_common_ptr jpeg = (j_common_ptr)&checker->reader.jpeg;

	jpeg->err->format_message(jpeg, text);
	return strncmp(text, said, strlen(said)) == 0 ? text + strlen(said) : text;
}

static void decide_truncated(struct checker *checker)
{
	char where[TEXT_BYTES];

	fail(checker, DAMAGE_TRUNCATED, "JPEG: ends %s", place_text(checker, where));
}

static void decide_corrupt(struct checker *checker)
{
	char where[TEXT_BYTES], why[JMSG_LENGTH_MAX];

	fail(checker, DAMAGE_CORRUPT, "JPEG: damaged %s: %s", place_text(checker, where),
	     reason_text(checker, why));
}

/* Notes damage that decoders accept. Only the first one is reported. */
static void note_usable(struct checker *checker)
{
	char why[JMSG_LENGTH_MAX];

	if (checker->verdict != GOOD)
		return;
	check_found(checker->finding, DAMAGE_CORRUPT, true, "JPEG: %s", reason_text(checker, why));
	checker->verdict = USABLE;
}

/* --- what libjpeg calls --------------------------------------------------------------- */

static void check_error(j_common_ptr jpeg)
{
	struct checker *checker = (struct checker *)jpeg;
	int code = jpeg->err->msg_code;
	const char *damage = DAMAGE_CORRUPT;
	char why[JMSG_LENGTH_MAX];

	if (code == JERR_OUT_OF_MEMORY)
		jpeg_trap_spring(&checker->reader.trap, -ENOMEM);
	if (checker->ended)
		decide_truncated(checker);
	if (code == JERR_EMPTY_IMAGE)
		damage = DAMAGE_NO_SIZE;
	else if (code == JERR_IMAGE_TOO_BIG || code == JERR_WIDTH_OVERFLOW)
		damage = DAMAGE_TOO_LARGE;
	else if (code != JERR_COMPONENT_COUNT && jpeg_trap_code(code) == -ENOTSUP)
		damage = DAMAGE_UNSUPPORTED;
	fail(checker, damage, "JPEG: %s", reason_text(checker, why));
}

/* What comes next behind the byte at `p`: a marker, with its number in *ret_marker, or the end.
 * Bytes that stand for themselves in coded data are none, nor are restart markers. */
static const uint8_t *next_marker(const uint8_t *p, const uint8_t *end, uint8_t *ret_marker)
{
	for (; (p = memchr(p, 0xff, (size_t)(end - p))) && end - p >= 2; p++) {
		if (p[1] == 0xff || p[1] == 0 || (p[1] >= JPEG_RST0 && p[1] <= JPEG_RST0 + 7))
			continue;
		*ret_marker = p[1];
		return p;
	}
	return end;
}

/* Where the segment ends that begins with the marker at `p`; NULL where it is cut off. */
static const uint8_t *segment_end(const uint8_t *p, const uint8_t *end)
{
	size_t len = end - p >= 4 ? 2 + (size_t)(p[2] << 8 | p[3]) : SIZE_MAX;

	return len <= (size_t)(end - p) ? p + len : NULL;
}

/* Whether the marker at `at`, behind the first scan, comes after a segment. Otherwise it comes
 * after the coded data of a scan. */
static bool follows_segment(const struct checker *checker, const uint8_t *at)
{
	const uint8_t *p = checker->scan;
	bool coded = true;
	uint8_t marker;

	while (p && (p = next_marker(p, checker->end, &marker)) < at) {
		coded = marker == SOS;
		p = segment_end(p, checker->end);
	}
	return p == at && !coded;
}

/* libjpeg has passed over bytes before a marker, as PIL does. Behind coded data they may be a part
 * of the picture. Of the source it has taken what it passed over, but not the marker yet; if
 * check_end() put that in, everything. */
static void on_stray_bytes(struct checker *checker)
{
	unsigned long passed = (unsigned long)checker->reader.trap.manager.msg_parm.i[0];
	const uint8_t *at =
		checker->ended ? checker->end : checker->reader.jpeg.src->next_input_byte;
	unsigned long zeros = 0;

	if (checker->ended && checker->part == IN_HEADER)
		decide_truncated(checker);
	/* Zeros are padding if they are no more than that. More would be a part of the file that
	 * was lost: the decoder takes zeros for a picture. */
	while (zeros <= passed + TAKEN_BYTES && at - zeros > checker->data &&
	       *(at - zeros - 1) == 0)
		zeros++;
	if (checker->part != IN_HEADER && passed > STRAY_BYTES &&
	    (zeros < passed || zeros > passed + TAKEN_BYTES) && !follows_segment(checker, at))
		decide_corrupt(checker);
	checker->padded |= checker->ended && checker->part == IN_ROWS && passed > STRAY_BYTES;
	if (!checker->ended)
		note_usable(checker);
}

/* A warning has level -1: libjpeg goes on with grey or wrong pixels. */
static void check_message(j_common_ptr jpeg, int level)
{
	struct checker *checker = (struct checker *)jpeg;

	if (level >= 0)
		return;
	switch (jpeg->err->msg_code) {
	case JWRN_ADOBE_XFORM:
	case JWRN_BOGUS_PROGRESSION:
	case JWRN_JFIF_MAJOR:
	case JWRN_NOT_SEQUENTIAL:
		note_usable(checker);
		break;
	case JWRN_EXTRANEOUS_DATA:
		on_stray_bytes(checker);
		break;
	default:
		if (checker->ended)
			decide_truncated(checker);
		decide_corrupt(checker);
	}
}

/* Does what the sources of libjpeg do, and remembers it. */
static boolean check_end(j_decompress_ptr jpeg)
{
	static const JOCTET eoi[] = {0xff, JPEG_EOI};
	struct checker *checker = (struct checker *)jpeg;

	checker->ended = true;
	jpeg->src->next_input_byte = eoi;
	jpeg->src->bytes_in_buffer = sizeof(eoi);
	return TRUE;
}

static void check_progress(j_common_ptr jpeg)
{
	struct checker *checker = (struct checker *)jpeg;

	if (checker->reader.jpeg.input_scan_number <= JPEG_SCANS)
		return;
	fail(checker, DAMAGE_CORRUPT, "JPEG: over %d scans", JPEG_SCANS);
}

/* --- the end of the image ------------------------------------------------------------- */

/* Whether there is an end-of-image marker from the first scan on. Segments between scans may hold
 * the same two bytes. */
static bool has_eoi(const uint8_t *p, const uint8_t *end)
{
	uint8_t marker = 0;

	if (end - p >= 2 && end[-2] == 0xff && end[-1] == JPEG_EOI)
		return true;
	while (p && (p = next_marker(p, end, &marker)) < end) {
		if (marker == JPEG_EOI)
			return true;
		p = segment_end(p, end);
	}
	return false;
}

static void look_at_end(struct checker *checker)
{
	const struct jpeg_decompress_struct *jpeg = &checker->reader.jpeg;
	bool missing = checker->ended && jpeg_lacks_scans(jpeg);

	/* A picture in several scans may lack some of them. */
	for (int c = 0; c < jpeg->num_components; c++)
		missing |= !jpeg->comp_info[c].quant_table;
	if (missing && checker->ended)
		decide_truncated(checker);
	if (missing)
		fail(checker, DAMAGE_CORRUPT, "JPEG: a colour is missing");
	if (checker->ended && checker->padded) {
		check_found(checker->finding, DAMAGE_NO_EOI, true,
			    "JPEG: zeros in place of the end-of-image marker");
		decide(checker, USABLE);
	}
	if (checker->ended)
		fail(checker, DAMAGE_NO_EOI,
		     "JPEG: no end-of-image marker, though no pixel is missing");
}

/* --- decoding ------------------------------------------------------------------------- */

/* All coefficients of a picture in several scans are kept in memory. A file that would take too
 * much of it is not decoded. */
static void limit_memory(struct checker *checker)
{
	const struct jpeg_decompress_struct *jpeg = &checker->reader.jpeg;
	uint64_t need = 0;

	for (int c = 0; c < jpeg->num_components; c++)
		need += (uint64_t)jpeg->comp_info[c].width_in_blocks *
			jpeg->comp_info[c].height_in_blocks * DCTSIZE2 * sizeof(JCOEF);
	if (checker->part != IN_SCANS || need <= CHECK_JPEG_MEMORY)
		return;
	if (checker->has_eoi) {
		check_found(checker->finding, DAMAGE_NOT_DECODED, true,
			    "JPEG: not decoded: would take %lu MiB", need >> 20);
		decide(checker, USABLE);
	}
	fail(checker, DAMAGE_TRUNCATED,
	     "JPEG: no end-of-image marker; not decoded: would take %lu MiB", need >> 20);
}

static void check_header(struct checker *checker, const uint8_t *data, size_t len)
{
	struct jpeg_decompress_struct *jpeg = &checker->reader.jpeg;

	jpeg_reader_begin(&checker->reader, data, len);
	checker->reader.progress.progress_monitor = check_progress;
	jpeg->src->fill_input_buffer = check_end;
	jpeg_read_header(jpeg, TRUE);
	if (jpeg->num_components == 2 || jpeg->num_components > 4)
		fail(checker, DAMAGE_UNSUPPORTED, "JPEG: %d components", jpeg->num_components);
	checker->part = jpeg_has_multiple_scans(jpeg) ? IN_SCANS : IN_ROWS;
	checker->scan = checker->ended ? data + len : jpeg->src->next_input_byte;
	checker->has_eoi = has_eoi(checker->scan, data + len);
}

static void check_scans(struct checker *checker)
{
	struct jpeg_decompress_struct *jpeg = &checker->reader.jpeg;
	JSAMPARRAY row;

	limit_memory(checker);
	jpeg->scale_num = 1;
	jpeg->scale_denom = 8;
	jpeg->out_color_space = jpeg->jpeg_color_space;
	jpeg->do_fancy_upsampling = FALSE;
	jpeg->do_block_smoothing = FALSE;
	jpeg_start_decompress(jpeg);
	row = jpeg->mem->alloc_sarray((j_common_ptr)jpeg, JPOOL_IMAGE,
				      jpeg->output_width * (JDIMENSION)jpeg->output_components, 1);
	while (jpeg->output_scanline < jpeg->output_height)
		jpeg_read_scanlines(jpeg, row, 1);
	while (!jpeg_input_complete(jpeg))
		jpeg_consume_input(jpeg);
	look_at_end(checker);
}

/* -ENOMEM; otherwise the verdict says what was found. */
static int examine(struct checker *checker, const uint8_t *data, size_t len)
{
	struct jpeg_decompress_struct *jpeg = &checker->reader.jpeg;

	if (setjmp(checker->reader.trap.jump))
		return checker->reader.trap.code;
	check_header(checker, data, len);
	if (checker->level == CHECK_DECODE || !checker->has_eoi)
		check_scans(checker);
	if (checker->verdict == GOOD && jpeg->num_components == 4) {
		check_found(checker->finding, DAMAGE_CMYK, true,
			    "JPEG: four components, CMYK or YCCK");
		checker->verdict = USABLE;
	}
	return 0;
}

int check_jpeg(enum check_level level, const struct bytes *file, struct check_finding *ret)
{
	struct checker checker = {
		.level = level, .finding = ret, .data = file->data, .end = file->data + file->len};
	struct jpeg_error_mgr *manager = jpeg_trap_init(&checker.reader.trap, NULL);
	int r;

	checker.reader.jpeg.err = manager;
	manager->error_exit = check_error;
	manager->emit_message = check_message;
	r = examine(&checker, file->data, file->len);
	jpeg_reader_release(&checker.reader);
	return r < 0 ? r : checker.verdict != GOOD;
}
