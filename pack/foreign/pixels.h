/* Images that a file holds as pixels, shown as image files: a PPM, or a PGM where there is one
 * channel (netpbm(5), binary: "P6\nWIDTH HEIGHT\n255\n" and the rows from the top). They have the
 * pixels exactly. */
#pragma once

#include "base/reader.h"

enum foreign_layout {
	FOREIGN_RGB,	    /* height x width x 3 */
	FOREIGN_BGR,	    /* the same in OpenCV's order */
	FOREIGN_GRAY,	    /* height x width */
	FOREIGN_PLANAR_BGR, /* 3 x height x width */
};

struct foreign_pixels {
	uint32_t width, height; /* 1..65535 */
	enum foreign_layout layout;
};

/* Bytes of the samples in the source; 0: no image is like that. */
uint64_t foreign_pixels_bytes(const struct foreign_pixels *pixels);
/* Bytes of the image file. */
uint64_t foreign_pixels_size(const struct foreign_pixels *pixels);
/* ".ppm" or ".pgm" */
const char *foreign_pixels_suffix(const struct foreign_pixels *pixels);

/* Bytes [from, from + len) of the image file, which has them, where its samples begin at `offset`
 * of the source. Returns 0, -ENOMEM, or as reader_get_full(). */
int foreign_pixels_read(struct reader *source, const struct foreign_pixels *pixels, uint64_t offset,
			uint64_t from, uint8_t *out, size_t len);
