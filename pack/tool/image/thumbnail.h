/* A small picture of an image, for a page to embed.
 *
 * An image that can be decoded is made smaller. One that cannot be decoded here, but is small and
 * of a kind that browsers show, is embedded unchanged. Thread-safe, silent. */
#ifndef PACK_TOOL_IMAGE_THUMBNAIL_H
#define PACK_TOOL_IMAGE_THUMBNAIL_H

#include "pack/dataset.h"

#define THUMBNAIL_SIDE 160 /* pixels, of the longer side */

struct thumbnail {
	const char *type; /* "image/jpeg" */
	uint32_t width, height;
	const void *data; /* in `made`, or in the bytes of the image */
	size_t len;
	struct buf made;
};

/* 0; 1: there is none, and err has the reason in few words; -EBADMSG: the image is broken, and err
 * says how; -ENOMEM. */
int thumbnail_make(const uint8_t *data, size_t len, struct thumbnail *ret, struct err *err);
void thumbnail_release(struct thumbnail *thumbnail);

#endif
