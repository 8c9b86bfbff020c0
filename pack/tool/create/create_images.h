/* What create does to the bytes of a file, in any thread: checks and transforms. */
#pragma once

#include "pack/tool/create/create.h"

/* Sets item->image, from the first bytes of the file or all of them. */
void create_inspect(struct item *item, const void *data, size_t len);

/* How many bytes an image takes once it is decoded, often a hundred times its own; 0 if it stays as
 * it is, or is a JPEG, of which rows or small pixels are enough. */
uint64_t create_decoded_size(const struct create *create, const struct item *item);

/* Whether the options that transform images may change this one. */
bool create_may_touch(const struct create *create, const char *path);

/* Checks and transforms a file that has been read; looks for annotations. */
void create_shape(const struct create *create, struct item *item);

/* Takes the bytes that are stored in place of its own. */
void item_take_made(struct item *item, struct buf *made);

/* Notes what is wrong with it. */
void item_set_bad(struct item *item, const char *damage, const char *why);

/* Notes why an image stays as it is. */
void create_leave(struct item *item, const char *why);
