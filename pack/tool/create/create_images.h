/* What create does to the bytes of a file, in any thread: checks them and changes them, by itself
 * or by asking programs: PIL, and that of --filter. These run while files go through the pipeline,
 * and are started when they are needed. */
#pragma once

#include "pack/tool/create/create.h"

/* Into create->programs: 0 or -ENOMEM. */
int create_begin_programs(struct create *create);
void create_end_programs(struct create *create);

/* Sets item->image, from the first bytes of the file or all of them. */
void create_inspect(struct item *item, const void *data, size_t len);

/* How many bytes an image takes once it is decoded, often a hundred times its own; 0 if it stays as
 * it is, or is a JPEG, of which rows or small pixels are enough. */
uint64_t create_decoded_size(const struct create *create, const struct item *item);

/* Whether the options that transform images may change this one. */
bool create_may_touch(const struct create *create, const char *path);

/* Checks and transforms a file that has been read; looks for annotations. item->error is -ECHILD
 * where a program failed, which ends the run, and item->left says why. */
void create_shape(struct create *create, struct item *item);

/* Notes why an image stays as it is. */
void create_leave(struct item *item, const char *why);
