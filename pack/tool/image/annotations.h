/* Files that say where in an image objects are. They no longer fit images that are resized.
 *
 * Recognised by the suffix of the name and the first bytes; this can be wrong. Pure, thread-safe;
 * any bytes give an answer. */
#ifndef PACK_TOOL_IMAGE_ANNOTATIONS_H
#define PACK_TOOL_IMAGE_ANNOTATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum annotations_kind {
	ANNOTATIONS_NONE,
	ANNOTATIONS_COCO, /* JSON with boxes, outlines, or sizes of the images, all in pixels */
	ANNOTATIONS_VOC,  /* XML with boxes in pixels */
	ANNOTATIONS_YOLO, /* text, a line for each box or outline: a class, and coordinates in [0,
			     1] */
};

/* As much of a file as annotations_look() needs. */
#define ANNOTATIONS_HEAD ((size_t)64 << 10)

/* Whether a file of this name can be one; others need not be read. */
bool annotations_may_be(const char *path);

/* What the file at `path` is, which begins with these bytes. */
enum annotations_kind annotations_look(const char *path, const uint8_t *head, size_t len);

/* The usual name, such as "COCO JSON"; NULL for ANNOTATIONS_NONE. */
const char *annotations_name(enum annotations_kind kind);

#endif
