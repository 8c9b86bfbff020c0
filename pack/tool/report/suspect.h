/* What is wrong with a file of a dataset of images, as far as its name and its first bytes say.
 * Pure. What is neither named like an image nor is one is never suspect. */
#ifndef PACK_TOOL_REPORT_SUSPECT_H
#define PACK_TOOL_REPORT_SUSPECT_H

#include "pack/dataset.h"

/* In the order of how much they hurt: a loader that meets the first three raises. */
enum suspect {
	SUSPECT_EMPTY,	   /* named like an image, no bytes */
	SUSPECT_NO_IMAGE,  /* named like an image, is none */
	SUSPECT_NO_HEADER, /* an image of no size: its header is cut off or makes no sense */
	SUSPECT_PASSED,	   /* an image that ImageFolder does not take, by its name */
	SUSPECT_MISNAMED,  /* an image of another kind than its name says */
	SUSPECT_KINDS,
	SUSPECT_NOT = SUSPECT_KINDS
};

/* Of a file of `size` bytes. An image whose size is not known although it is longer than its
 * first bytes, as those of image.h, is believed. */
enum suspect suspect_of(const char *name, size_t name_len, uint64_t size,
			const struct dataset_image *image);

/* Whether it is an image, by its name or by its content. */
bool suspect_image(const char *name, size_t name_len, const struct dataset_image *image);

#endif
