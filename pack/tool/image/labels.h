/* Files that say where in an image things are, and so depend on its size.
 *
 * Pure, thread-safe: any bytes give an answer. A guess, by the name's end and the first bytes. */
#ifndef PACK_TOOL_IMAGE_LABELS_H
#define PACK_TOOL_IMAGE_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum labels_kind {
	LABELS_NONE,
	LABELS_COCO, /* JSON with boxes, outlines, or sizes of the images, all in pixels */
	LABELS_VOC,  /* XML with boxes in pixels */
	LABELS_YOLO, /* text: a class and the box or outline in shares of the image, a line each */
};

/* Enough of a file to tell by. */
#define LABELS_HEAD ((size_t)64 << 10)

/* Whether the name allows that labels_look() finds something: others need not be read. */
bool labels_may_be(const char *path);

/* What the file at `path`, which begins with these bytes, is. */
enum labels_kind labels_look(const char *path, const uint8_t *head, size_t len);

/* What people call it, such as "COCO JSON"; NULL for LABELS_NONE. */
const char *labels_name(enum labels_kind kind);

#endif
