/* Files that say where objects are in an image. They no longer fit images that are resized.
 *
 * They are recognised by the suffix of the name and the first bytes, which can be wrong. Pure,
 * thread-safe; accepts any bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum annotations_kind {
	ANNOTATIONS_NONE,
	ANNOTATIONS_COCO, /* JSON with boxes, outlines, or sizes of the images, all in pixels */
	ANNOTATIONS_VOC,  /* XML with boxes in pixels */
	ANNOTATIONS_YOLO, /* text, a line for each box or outline: a class, and coordinates from 0
			     to 1 */
};

/* How many bytes of a file annotations_look() needs. */
#define ANNOTATIONS_HEAD ((size_t)64 << 10)

/* Whether a file with this name can be one. Other files need not be read. */
bool annotations_may_be(const char *path);

/* What the file at `path` is; it begins with these bytes. */
enum annotations_kind annotations_look(const char *path, const uint8_t *head, size_t len);

/* The usual name, such as "COCO JSON"; NULL for ANNOTATIONS_NONE. */
const char *annotations_name(enum annotations_kind kind);
