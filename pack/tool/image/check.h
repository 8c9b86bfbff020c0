/* Is a file that claims to be an image a good one? As far as that can be told here; of images that
 * are no JPEGs PIL knows the rest (pictures.h).
 *
 * Looks at files with the extension of an image (those of torchvision's ImageFolder, and .gif) and
 * at files that begin as a JPEG, PNG, GIF or WebP does. All others are good: what is no picture may
 * begin as a PNM or BMP, and raw files of cameras begin as TIFFs. Training code is the judge: an
 * image that PIL refuses, or returns with pixels missing or wrong, is bad. If training code reads
 * all of it although something is odd, the finding is `usable`.
 *
 * CHECK_HEADER looks at what the file says of itself, and whether that can be true: sizes, lengths,
 * offsets, the chain of its parts, its end. It decodes the pixels of a JPEG only if the end is
 * missing, since nothing else tells how much is missing with it. CHECK_DECODE decodes each JPEG
 * with libjpeg-turbo, and checks the CRCs of a PNG.
 * Bytes after the end of an image are no damage: cameras leave a second picture there, others
 * padding.
 *
 * Accepts any bytes. Memory is bounded by CHECK_JPEG_MEMORY. Time grows with the pixels that a
 * header claims, at most MAX_PIXELS (check.c). */
#pragma once

#include "pack/tool/image/bytes.h"
#include <stdarg.h>
#include <stdio.h>

enum check_level { CHECK_OFF, CHECK_HEADER, CHECK_DECODE };

/* The classes of damage: words of the bad list and of foldpack-images(7). */
#define DAMAGE_EMPTY	   "empty"	     /* no bytes */
#define DAMAGE_NO_IMAGE	   "not-an-image"    /* an image's extension, but not its content */
#define DAMAGE_TRUNCATED   "truncated"	     /* ends too early */
#define DAMAGE_CORRUPT	   "corrupt"	     /* parts do not fit together, or cannot be decoded */
#define DAMAGE_NO_EOI	   "no-eoi"	     /* JPEG: only the end-of-image marker is missing */
#define DAMAGE_NO_SIZE	   "no-size"	     /* the header says no size, or no pixels */
#define DAMAGE_TOO_LARGE   "too-large"	     /* more pixels, or text of a PNG, than PIL takes */
#define DAMAGE_UNSUPPORTED "unsupported"     /* of a kind that PIL does not read */
#define DAMAGE_NOT_DECODED "not-decoded"     /* usable: decoding it takes too much memory */
#define DAMAGE_EXTENSION   "wrong-extension" /* usable: not the kind that its name says */
#define DAMAGE_CMYK	   "cmyk"	     /* usable: a JPEG with four components */

struct check_finding {
	const char *damage; /* one of the above */
	bool usable;	    /* training code reads it, and every pixel */
	bool named_only;    /* it has the name of an image, or its first bytes, but no header */
	bool unsure;	    /* only PIL can tell: a finding is usable if PIL reads the image */
	char text[160];	    /* a sentence: lower case, no full stop, without the path */
};

/* 0: good, unless ret->unsure; 1: *ret says what is wrong; -ENOMEM. Of several findings it reports
 * one that is not usable, else the first. `data` is the whole file; `path` is only for its
 * extension. Thread-safe, silent. */
int check_image(enum check_level level, const char *path, const uint8_t *data, size_t len,
		struct check_finding *ret);

/* The most memory that decoding takes, in bytes. A JPEG in one scan needs only some rows; one in
 * several scans needs all its coefficients: 256 MiB are 89 million pixels with halved colours. */
#define CHECK_JPEG_MEMORY ((uint64_t)256 << 20)

/* The part of libjpeg-turbo (jpeg_check.c), for bytes that begin as a JPEG does. */
int check_jpeg(enum check_level level, const struct bytes *file, struct check_finding *ret);

/* The class of damage that is called so; NULL: there is none. */
const char *check_damage(const char *word);

/* Formats a finding, of which the rest stays. Returns 1. */
__attribute__((format(printf, 4, 5))) static inline int
check_found(struct check_finding *ret, const char *damage, bool usable, const char *format, ...)
{
	va_list args;

	ret->damage = damage;
	ret->usable = usable;
	va_start(args, format);
	vsnprintf(ret->text, sizeof(ret->text), format, args);
	va_end(args);
	return 1;
}
