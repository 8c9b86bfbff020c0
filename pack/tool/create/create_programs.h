/* Programs that create asks about the bytes of files, in any thread: PIL, and that of
 * --filter. They run while files go through the pipeline, and are started when they are needed. */
#pragma once

#include "pack/tool/create/create.h"

#define PICTURE_PIXEL 4 /* bytes, of an image that PIL has decoded */

/* Into create->programs: 0 or -ENOMEM. */
int programs_begin(struct create *create);
void programs_end(struct create *create);

/* Asks the program of --filter; what it makes is the file from then on. */
void programs_filter(const struct create *create, struct item *item);

/* Asks PIL about an image of which a check is unsure, and settles item->finding. */
void programs_check(const struct create *create, struct item *item);

/* Transforms a PNG or WebP, into an empty buffer: 0; 1: it stays (err is empty, or says why); 2: it
 * is bad, and item->finding says why; -EBADMSG or -EFBIG (err says why); or what is for
 * programs_left(). */
int programs_make(const struct create *create, struct item *item, struct buf *made,
		  struct err *err);

/* Leaves a failure of a program in the item: it ends the run. */
void programs_left(struct item *item, int error, const struct err *err);
/* Prints one that was left, item->error -ECHILD. Returns CREATE_REPORTED. */
int programs_fail(struct create *create, const struct item *item);
