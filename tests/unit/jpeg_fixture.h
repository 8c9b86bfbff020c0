/* JPEGs of all kinds, made by libjpeg for the tests that read them. */
#pragma once

#include "base/buf.h"
#include "tests/unit/test.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

/* A segment to stand ahead of the pixels. */
struct jpeg_segment {
	int marker;
	const char *payload;
	unsigned len;
};

#define SEGMENT(marker, text)                      \
	{                                          \
		(marker), (text), sizeof(text) - 1 \
	}

struct jpeg_recipe {
	unsigned width, height;
	J_COLOR_SPACE colour; /* JCS_GRAYSCALE, JCS_RGB or JCS_CMYK */
	int across, down;     /* luma samples for one of chroma; 0: 2 */
	int quality;	      /* 0: 90 */
	int restart_rows;
	bool progressive, arithmetic;
	bool plain; /* no Huffman codes of its own */
	bool apart; /* a scan for each component */
	struct jpeg_segment segments[4];
};

/* Slopes, with some noise so that no two coefficients agree by chance. */
static void jpeg_fixture_row(const struct jpeg_recipe *recipe, unsigned y, int channels,
			     uint8_t *row)
{
	uint32_t seed = y + 1;

	for (unsigned x = 0; x < recipe->width; x++) {
		for (int c = 0; c < channels; c++) {
			seed = seed * 1664525u + 1013904223u;
			*row++ = (uint8_t)((x * (unsigned)(c + 2) + y * (unsigned)(5 - c)) / 2 %
						   200 +
					   (seed >> 27));
		}
	}
}

static void jpeg_fixture_set(struct jpeg_compress_struct *jpeg, const struct jpeg_recipe *recipe)
{
	static const jpeg_scan_info scans[] = {
		{1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};

	jpeg->image_width = recipe->width;
	jpeg->image_height = recipe->height;
	jpeg->in_color_space = recipe->colour;
	jpeg->input_components = recipe->colour == JCS_GRAYSCALE ? 1
				 : recipe->colour == JCS_RGB	 ? 3
								 : 4;
	jpeg_set_defaults(jpeg);
	jpeg_set_quality(jpeg, recipe->quality ? recipe->quality : 90, TRUE);
	jpeg->comp_info[0].h_samp_factor = recipe->across ? recipe->across : 2;
	jpeg->comp_info[0].v_samp_factor = recipe->down ? recipe->down : 2;
	jpeg->restart_in_rows = recipe->restart_rows;
	jpeg->arith_code = recipe->arithmetic;
	jpeg->optimize_coding = !recipe->plain && !recipe->arithmetic;
	if (recipe->progressive)
		jpeg_simple_progression(jpeg);
	if (recipe->apart) {
		jpeg->scan_info = scans;
		jpeg->num_scans = jpeg->num_components;
	}
}

/* A JPEG by this recipe, appended to an empty buffer. */
static void jpeg_fixture(const struct jpeg_recipe *recipe, struct buf *out)
{
	struct jpeg_compress_struct jpeg = {0};
	struct jpeg_error_mgr errors;
	unsigned char *bytes = NULL;
	unsigned long len = 0;
	uint8_t *row = malloc((size_t)recipe->width * 4);

	assert_non_null(row);
	jpeg.err = jpeg_std_error(&errors);
	jpeg_create_compress(&jpeg);
	jpeg_mem_dest(&jpeg, &bytes, &len);
	jpeg_fixture_set(&jpeg, recipe);
	jpeg_start_compress(&jpeg, TRUE);
	for (const struct jpeg_segment *segment = recipe->segments; segment->marker; segment++)
		jpeg_write_marker(&jpeg, segment->marker, (const JOCTET *)segment->payload,
				  segment->len);
	for (unsigned y = 0; y < recipe->height; y++) {
		jpeg_fixture_row(recipe, y, jpeg.input_components, row);
		jpeg_write_scanlines(&jpeg, &row, 1);
	}
	jpeg_finish_compress(&jpeg);
	jpeg_destroy_compress(&jpeg);
	assert_int_equal(buf_add(out, bytes, len), 0);
	free(bytes);
	free(row);
}

/* Changes up to four bytes of a file, by a seed. */
static void jpeg_fixture_damage(struct buf *file, uint32_t *seed)
{
	uint32_t values[9];

	for (unsigned i = 0; i < 9; i++) {
		*seed = *seed * 1664525u + 1013904223u;
		values[i] = *seed >> 8;
	}
	for (uint32_t i = values[8] % 4; i < 4; i++)
		file->data[values[i] % file->len] = (char)values[4 + i];
}
