/* Everything that libjpeg-turbo does: reads what a JPEG says of itself, decodes and encodes JPEGs,
 * and makes another JPEG with the same pixels. Silent, thread-safe. */
#pragma once

#include "base/err.h"
#include "pack/tool/image/bitmap.h"

enum jpeg_colour {
	JPEG_GREY,
	JPEG_COLOUR, /* YCbCr or RGB */
	JPEG_CMYK,   /* CMYK or YCCK */
	JPEG_OTHER,  /* a number of components that means no colour */
};

struct jpeg_head {
	uint32_t width, height;
	enum jpeg_colour colour;
	bool ycck;	      /* of JPEG_CMYK: which of the two */
	bool baseline;	      /* a single scan with Huffman codes: quick to decode */
	unsigned orientation; /* how EXIF or XMP asks to turn it; 1: not at all */
	/* The segments that a copy with other pixels needs, verbatim: EXIF, XMP if it has the
	 * orientation, and the colour profile unless it is that of sRGB. */
	struct buf segments;
};

/* Returns 0, or -EINVAL (no frame header that makes sense). */
int jpeg_size(const uint8_t *data, size_t len, uint32_t *ret_width, uint32_t *ret_height);

/* The version of the library it was built with. */
const char *jpeg_version(void);

/* Damage in front of the pixels that libjpeg passes over does not count here. 0, -EBADMSG
 * (damaged), -ENOTSUP (a kind of JPEG that libjpeg-turbo does not decode) or -ENOMEM. *ret is for
 * jpeg_head_release(). */
int jpeg_head_read(const uint8_t *data, size_t len, struct jpeg_head *ret, struct err *err);
void jpeg_head_release(struct jpeg_head *head);

/* Decodes a JPEG as PIL does, without turning it; CMYK to four bytes a pixel, as they are in the
 * file. `shrink` is 1, 2, 4 or 8: the result has that fraction of the size, rounded up, by a
 * smaller inverse DCT, which is quicker. Damage that libjpeg only warns of counts, too, unless
 * check_jpeg() says that decoders read every pixel.
 *
 * 0, -EBADMSG (damaged), -EFBIG (libjpeg would take over 1 GiB besides the pixels), -ENOTSUP (a
 * kind of JPEG that libjpeg-turbo does not decode) or -ENOMEM. *ret is for pixels_release(). */
int jpeg_decode(const uint8_t *data, size_t len, uint32_t shrink, struct pixels *ret,
		struct err *err);

/* Appends a baseline JPEG to an empty buffer, of four bytes a pixel in CMYK, or in YCCK if `ycck`.
 * The quality is 1 to 100 on the scale of libjpeg and PIL, colour 4:2:0 as theirs (at quality 90
 * full resolution takes 22 % more bytes). The Huffman codes are made for the image. `segments` are
 * complete, and are copied verbatim ahead of the pixels.
 *
 * 0, -EINVAL (no JPEG can have that size), or -ENOMEM. */
int jpeg_encode(const struct pixels *pixels, uint32_t quality, bool ycck,
		const struct buf *segments, struct buf *out, struct err *err);

/* Appends a baseline JPEG with the same coefficients, and Huffman codes made for them, to an empty
 * buffer. All segments and comments are kept, except an index of further pictures (MPF): those
 * pictures come after the end of the image, and what is there is left out.
 *
 * 0; 1: decoders would not show the same pixels, since they smooth a progressive image that lacks
 * its last scans (err says so); -EBADMSG (damaged), -EFBIG (takes over 1 GiB), -ENOTSUP (a kind of
 * JPEG that libjpeg-turbo does not decode) or -ENOMEM. */
int jpeg_optimize(const uint8_t *data, size_t len, struct buf *out, struct err *err);
