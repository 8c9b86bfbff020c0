/* FFCV's .beton: images as JPEG files, or as pixels, and labels.
 *
 *	header, fields and samples: pack/foreign/record/ffcv_header.h
 *	image    of a sample: u8 mode (0: JPEG, 1: pixels), u16 width, u16 height, u64 offset
 *	table    u64 sample, u64 offset, u64 bytes: of all that is stored, in any order, to the end
 *
 * The size of a JPEG file stands in the table alone. */
#include "base/le.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/search.h"
#include "base/size.h"
#include "pack/foreign/format.h"
#include "pack/foreign/record/ffcv_header.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROW = 24 };
enum { MODE_JPEG, MODE_PIXELS };

#define HEADS	   64
#define HEAD_BYTES 16
#define BLOCK	   (64 * KIB) /* of the table that is read at once: about */

struct beton {
	struct foreign_source *source;
	struct ffcv_header header;
	struct buf places; /* struct place, by offset */
};

struct place {
	uint64_t offset, size;
};

static void beton_release(struct beton *b)
{
	buf_release(&b->places);
}

/* --- the table -------------------------------------------------------------------------------- */

static int read_table(struct beton *b, struct err *err)
{
	uint64_t count = (b->source->size - b->header.table) / ROW;
	int r = 0;

	for (uint64_t i = 0, n; r == 0 && i < count; i += n) {
		const uint8_t *p;

		n = min(count - i, BLOCK / ROW);
		r = foreign_get(b->source, b->header.table + i * ROW, n * ROW, &p, err);
		for (uint64_t j = 0; r == 0 && j < n; j++) {
			const struct place place = {le_get64(p + j * ROW + 8),
						    le_get64(p + j * ROW + 16)};

			r = buf_add(&b->places, &place, sizeof(place));
		}
	}
	buf_sort(&b->places, sizeof(struct place), search_compare64);
	return r;
}

static const struct place *find_beton_place(const struct beton *b, uint64_t offset)
{
	const struct place wanted = {.offset = offset};

	return buf_find(&b->places, &wanted, sizeof(wanted), search_compare64);
}

/* --- samples ---------------------------------------------------------------------------------- */

static int add_sample(const struct beton *b, struct foreign_tree *tree, uint64_t i,
		      const uint8_t *p, struct err *err)
{
	const uint8_t *image = p + b->header.image;
	struct foreign_pixels pixels = {
		.width = le_get16(image + 1), .height = le_get16(image + 3), .layout = FOREIGN_RGB};
	struct foreign_file file = {.record = i,
				    .label = b->header.label < 0
						     ? FOREIGN_NO_LABEL
						     : (int64_t)le_get64(p + b->header.label),
				    .offset = le_get64(image + 5)};
	const struct place *place = find_beton_place(b, file.offset);

	if (image[0] == MODE_PIXELS)
		file.pixels = &pixels;
	else if (image[0] != MODE_JPEG)
		return err_set(err, -EBADMSG,
			       "record %" PRIu64
			       ": an image of mode %u, which is neither JPEG nor pixels",
			       i, image[0]);
	if (!place)
		return err_set(err, -EBADMSG,
			       "record %" PRIu64 ": its image at %" PRIu64 " is not in the table",
			       i, file.offset);
	file.size = place->size;
	return foreign_add(tree, &file, err);
}

/* foreign_add() reads the beginning of the first images. */
static int ask_for_heads(const struct beton *b, struct err *err)
{
	uint64_t count = min(b->header.samples, HEADS);
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < count; i++) {
		const uint8_t *p;

		r = foreign_get(b->source, b->header.first + i * b->header.sample, b->header.sample,
				&p, err);
		if (r == 0)
			foreign_will_get(b->source, le_get64(p + b->header.image + 5), HEAD_BYTES);
	}
	return r;
}

static int scan_ffcv(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	SCOPE(beton_release) struct beton b = {.source = source};
	int r = ffcv_header_read(source, &b.header, err);

	if (r == 0)
		r = read_table(&b, err);
	if (r == 0)
		r = ask_for_heads(&b, err);
	for (uint64_t i = 0; r == 0 && i < b.header.samples; i++) {
		uint8_t sample[FFCV_SAMPLE_MOST];
		const uint8_t *p;

		r = foreign_get(source, b.header.first + i * b.header.sample, b.header.sample, &p,
				err);
		if (r < 0)
			break;
		memcpy(sample, p, b.header.sample);
		r = add_sample(&b, tree, i, sample, err);
	}
	return r < 0 ? r
		     : foreign_tree_note_count(tree, b.header.others,
					       "left out: %" PRIu64
					       " further fields of each sample");
}

const struct foreign_format ffcv_format = {
	.name = "ffcv",
	.probe = ffcv_header_probe,
	.scan = scan_ffcv,
};
