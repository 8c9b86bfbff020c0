/* TIFF, which EXIF is too: a header that says where the first directory is, and directories of
 * fields (tag, type, count, value or where it is). BigTIFF has the same, with wider numbers. Pure;
 * trusts no field. */
#pragma once

#include "pack/tool/image/bytes.h"
#include "pack/tool/image/check.h"

enum { TIFF_WIDTH = 256, TIFF_HEIGHT = 257 };

struct tiff {
	struct bytes file; /* in its own byte order */
	bool wide;	   /* BigTIFF */
};

/* Whether the bytes begin as a TIFF does: at least 4, and 8 of a BigTIFF. */
bool tiff_begins(const struct bytes *file, struct tiff *ret);

/* Where the first directory is. */
uint64_t tiff_directory(const struct tiff *tiff);

/* The number in the first field with this tag of the directory at `directory`; 0: there is none. */
uint64_t tiff_number(const struct tiff *tiff, uint64_t directory, uint32_t tag);

/* As check_jpeg(): the first directory, and where its pixels lie. */
int check_tiff(enum check_level level, const struct bytes *file, struct check_finding *ret);
