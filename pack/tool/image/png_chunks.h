/* The chunks of a PNG besides its pixels, as PIL reads them: its versions 9.4 and 13.0 were read,
 * and what either refuses counts. Pure; trusts no field and accepts any bytes. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "pack/tool/image/bytes.h"

#define PNG_FIRST_CHUNK 8  /* behind the signature */
#define PNG_CHUNK_FRAME 12 /* length, type and CRC */

/* What a reader knows after some chunks. All zero before the first one. */
struct png_reading {
	uint32_t width, height;
	unsigned type;	   /* as in the header */
	uint64_t unpacked; /* bytes of text and profiles */
	uint32_t frames;   /* of an animation */
	uint32_t next;	   /* the number of its next part */
	bool pixels;	   /* IDAT was there */
};

static inline bool png_chunk_is(const uint8_t *chunk, const char *type)
{
	return memcmp(chunk + 4, type, 4) == 0;
}

/* The CRC that a chunk should end with. */
uint32_t png_chunk_crc(const uint8_t *chunk);

/* Reads a chunk, all of whose content is there. 0; if PIL refuses a PNG that has it: -EBADMSG, or
 * -EFBIG where it holds more than PIL takes, and err says why; -ENOMEM. */
int png_chunk_read(struct png_reading *reading, const uint8_t *chunk, struct err *err);

/* Reads all chunks that PIL reads when it loads an image. As png_chunk_read(), or -ENODATA: the
 * content of one is cut off. */
int png_chunks_read(const struct bytes *file, struct err *err);

/* Appends the text of a tEXt, zTXt or iTXt with this keyword, at most what PIL takes. 0; 1: another
 * chunk, or no text comes of it; -ENOMEM. */
int png_chunk_text(const uint8_t *chunk, const char *keyword, struct buf *text);
