/* The labels that the source of a pack has: pack/labels.h. */
#pragma once

#include "pack/tool/create/create.h"

/* Once all files are stored: gives the pack the labels of the source, and, where that was asked
 * for, folders for those without an image. 0, -ENOMEM or what the builder returned. */
int create_keep_labels(struct create *create, struct err *err);
/* Says which labels of the finished pack are not what ImageFolder gives. */
void create_say_labels(const struct create *create);
