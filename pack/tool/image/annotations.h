/* Texts that say where something is in an image: they no longer fit one that is resized.
 *
 * No format is known, and no name: a text of any kind is one if it has places and is about images.
 *
 *	places	four numbers in a row, two pairs of numbers in brackets, or two numbers whose names
 *		differ in x and y or the like. A name stands in front of its
 *		number, or above it in the first lines. Numbers up to 1 are no places: they fit
 *		any size. Nor are those of prose: of lines and strings in which there are not
 *		twice as many numbers as words, unless a line begins with the place
 *	about	it names an image, shares a name with one (photo_names.h), or has as many places as
 *		there are images
 *
 * Bytes come in parts of any size, in order. Silent; accepts any bytes; threads may look through
 * files at the same time. Memory: 8 bytes for each time that an image is named. */
#pragma once

#include "pack/tool/image/photo_names.h"

#define ANNOTATIONS_HEAD 4096

struct annotations_scan;

struct annotations {
	uint64_t places, images; /* that it names, or is named after */
};

/* `path` is that of the file; `names` must stay. 0 or -ENOMEM. */
int annotations_begin(const struct photo_names *names, const char *path,
		      struct annotations_scan **ret);
/* The first part has at least ANNOTATIONS_HEAD bytes, or all. 0; 1: it is no text, and need not be
 * read on; -ENOMEM. */
int annotations_feed(struct annotations_scan *scan, const void *data, size_t len);
/* 1: the file no longer fits images that are resized, and *ret says how much is in it; 0: it is
 * harmless; -ENOMEM. */
int annotations_end(struct annotations_scan *scan, struct annotations *ret);
/* NULL is fine. */
void annotations_free(struct annotations_scan *scan);
