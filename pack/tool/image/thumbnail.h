/* A small picture of an image, as a page can embed it.
 *
 * What can be decoded is made smaller; what cannot, but is small and of a kind that browsers show,
 * is taken as it is. Thread-safe, silent. */
#ifndef PACK_TOOL_IMAGE_THUMBNAIL_H
#define PACK_TOOL_IMAGE_THUMBNAIL_H

#include "pack/dataset.h"

#define THUMBNAIL_SIDE 160 /* pixels, of the longer side */

struct thumbnail {
	const char *type; /* "image/jpeg" */
	uint32_t width, height;
	const void *data; /* in `made`, or the bytes that were given */
	size_t len;
	struct buf made;
};

/* 0; 1: there is none, and err says why, shortly; -EBADMSG: it is a broken image, err says what
 * is broken; -ENOMEM. */
int thumbnail_make(const uint8_t *data, size_t len, struct thumbnail *ret, struct err *err);
void thumbnail_release(struct thumbnail *thumbnail);

#endif
