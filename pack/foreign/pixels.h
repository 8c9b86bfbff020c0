/* Images that a file holds as pixels, shown as image files: a reader that puts a header in front
 * and the samples in order, as they are read.
 *
 * The files lie one after the other, each at a multiple of READER_PAGE, in a space of their own:
 * foreign_pixels_size() is how much one takes. Shown are a PPM, of one channel a PGM (netpbm(5),
 * binary: "P6\nWIDTH HEIGHT\n255\n" and the rows from the top), which have the pixels exactly. */
#ifndef PACK_FOREIGN_PIXELS_H
#define PACK_FOREIGN_PIXELS_H

#include "base/reader.h"

enum foreign_layout {
	FOREIGN_RGB,	    /* height x width x 3 */
	FOREIGN_BGR,	    /* the same in OpenCV's order */
	FOREIGN_GRAY,	    /* height x width */
	FOREIGN_PLANAR_RGB, /* 3 x height x width */
	FOREIGN_PLANAR_BGR,
};

struct foreign_pixels {
	uint32_t width, height; /* 1..65535 */
	enum foreign_layout layout;
};

/* Bytes of the samples in the source. */
uint64_t foreign_pixels_bytes(const struct foreign_pixels *pixels);
/* Bytes of the image file. */
uint64_t foreign_pixels_size(const struct foreign_pixels *pixels);
/* ".ppm" or ".pgm" */
const char *foreign_pixels_suffix(const struct foreign_pixels *pixels);

/* A row of the table: an image in the source. */
struct foreign_picture {
	uint64_t start;	 /* of the image file in the space of the reader */
	uint64_t offset; /* of the samples in the source */
	struct foreign_pixels pixels;
};

/* The table, by start, is copied, and is checked: -EBADMSG where an image does not lie in the
 * source or two overlap; or -ENOMEM. The source stays the caller's and must outlive the reader. */
int foreign_pixels_reader(struct reader *source, const struct foreign_picture *pictures,
			  size_t count, struct reader **ret);

#endif
