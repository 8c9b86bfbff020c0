/* Virtual files, generated when they are read: image files of what the source holds as pixels, and
 * unpacked pages of what it holds compressed. They lie one after the other in a space of their own,
 * each at a multiple of READER_PAGE, with zeros between. A page of CODEC_HOLE is a piece of a file
 * with holes: its packed bytes as they are, then zeros; the next row begins right behind it. A
 * table says what each is made of. Index files hold that table. */
#pragma once

#include "base/err.h"
#include "pack/foreign/pages.h"

/* Images that a file holds as pixels, shown as image files: a PPM, or a PGM where there is one
 * channel (netpbm(5), binary: "P6\nWIDTH HEIGHT\n255\n" and the rows from the top). They have the
 * pixels exactly. */
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
/* ".ppm" or ".pgm" */
const char *foreign_pixels_suffix(const struct foreign_pixels *pixels);

/* An image or a page. */
struct virtual_row {
	uint64_t start;	 /* in the space */
	uint64_t offset; /* of what it is made of, in the source */
	bool is_page;
	union {
		struct foreign_pixels pixels;
		struct page page;
	};
};

/* Bytes that it has in the space. */
uint64_t virtual_size(const struct virtual_row *row);
/* Where the next one begins. */
uint64_t virtual_end(const struct virtual_row *row);

/* Rows in an index file are four 64-bit little-endian numbers: start, offset, width << 32 | height,
 * layout; or, for a page, start, offset, bytes unpacked << 32 | packed, 256 + codec. */
#define VIRTUAL_ROW_BYTES 32
void virtual_encode(const struct virtual_row *row, uint8_t ret[static VIRTUAL_ROW_BYTES]);
struct virtual_row virtual_decode(const uint8_t bytes[static VIRTUAL_ROW_BYTES]);

/* Copies the table, and checks it. Source and pages stay the caller's and must outlive the reader.
 * Returns 0; -EBADMSG where rows do not follow each other, or are made of bytes that are not in the
 * source; -ENOSYS where the library of a codec is missing, which err names; or -ENOMEM. */
int virtual_reader_new(struct reader *source, const struct virtual_row *rows, size_t count,
		       struct pages *pages, struct reader **ret, struct err *err);
