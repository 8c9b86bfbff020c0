/* What a JPEG says of itself ahead of its pixels, by libjpeg-turbo. Silent, thread-safe. */
#ifndef PACK_TOOL_IMAGE_JPEG_HEAD_H
#define PACK_TOOL_IMAGE_JPEG_HEAD_H

#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>

enum jpeg_colour {
	JPEG_GREY,
	JPEG_COLOUR, /* YCbCr or RGB */
	JPEG_OTHER,  /* CMYK, YCCK, or a number of components that means no colour */
};

struct jpeg_head {
	uint32_t width, height;
	enum jpeg_colour colour;
	bool baseline;	      /* a single scan, in Huffman's code: quick to decode */
	unsigned orientation; /* as EXIF or XMP asks to turn it; 1: not */
	/* The segments that a copy with other pixels needs, verbatim: EXIF, XMP where that has
	 * the orientation, and the colour profile unless it is that of sRGB. */
	struct buf segments;
};

/* Returns 0, or -EINVAL where the bytes hold no frame header that makes sense. */
int jpeg_size(const uint8_t *data, size_t len, uint32_t *ret_width, uint32_t *ret_height);

/* The version of the library it was built with. */
const char *jpeg_version(void);

/* 0, -EBADMSG (damaged), -ENOTSUP (a kind of JPEG that libjpeg-turbo does not decode) or
 * -ENOMEM. *ret is for jpeg_head_release(). */
int jpeg_head_read(const uint8_t *data, size_t len, struct jpeg_head *ret, struct err *err);
void jpeg_head_release(struct jpeg_head *head);

#endif
