/* What create does to the bytes of a file, in any thread: checks them and changes them, by itself
 * or by asking programs: PIL, and that of --filter. These run while files go through the pipeline,
 * and are started when they are needed. */
#pragma once

#include "pack/tool/create/item.h"
#include "pack/tool/create/options.h"

struct shape;

/* `options` must stay. 0 or -ENOMEM. */
int shape_new(const struct create_options *options, struct shape **ret);
/* Ends the programs. NULL is fine. */
void shape_free(struct shape *shape);

/* Sets item->image, from the first bytes of the file or all of them. */
void shape_inspect(struct create_item *item, const void *data, size_t len);

/* How many bytes an image takes once it is decoded, often a hundred times its own; 0 if it stays as
 * it is, or is a JPEG, of which rows or small pixels are enough. */
uint64_t shape_decoded_size(const struct shape *shape, const struct create_item *item);

/* Checks and transforms a file that has been read. item->file.error is -ECHILD where a program
 * failed, which ends the run, and item->left says why. */
void shape_item(const struct shape *shape, struct create_item *item);

/* Notes why an image stays as it is. */
void shape_leave(struct create_item *item, const char *why);
