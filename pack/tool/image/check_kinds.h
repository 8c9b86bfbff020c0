/* The parts of check_image() for the kinds that need no decoder: what a file says of itself is
 * compared with its length, and its parts with each other.
 *
 * Each takes bytes that begin as a file of its kind does, and all of them. 0: good; 1: *ret says
 * what is wrong. Pure, thread-safe; no bytes make them read beyond `len`. */
#ifndef PACK_TOOL_IMAGE_CHECK_KINDS_H
#define PACK_TOOL_IMAGE_CHECK_KINDS_H

#include "pack/tool/image/check.h"

/* Chunks, their CRCs (CHECK_HEADER: of those before the pixels), the end. */
int check_png(enum check_level level, const uint8_t *data, size_t len, struct check_finding *ret);

/* Blocks, and the trailer. Usable once a first picture is whole. */
int check_gif(const uint8_t *data, size_t len, struct check_finding *ret);

/* The length of all, chunks, and the frame's header. */
int check_webp(const uint8_t *data, size_t len, struct check_finding *ret);

/* Where the pixels lie, and how many bytes they take. */
int check_bmp(const uint8_t *data, size_t len, struct check_finding *ret);

/* As check_bmp(). Plain samples (P1 to P3) are counted at CHECK_DECODE. */
int check_pnm(enum check_level level, const uint8_t *data, size_t len, struct check_finding *ret);

/* The first directory, and where the pixels lie that it points at. Of BigTIFF nothing. */
int check_tiff(const uint8_t *data, size_t len, struct check_finding *ret);

#endif
