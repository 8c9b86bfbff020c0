/* Paths for operations: most are those of the tree, some lead nowhere. */
#pragma once

#include "tests/model/model.h"
#include <stddef.h>
#include <stdint.h>

struct path_list {
	char *text; /* NUL-ended paths, one after the other */
	char **paths;
	size_t count;
};

/* Reads NUL-ended paths up to the end. 0, -ENOMEM or the error of the read; -EINVAL: none. */
int path_list_read(int fd, struct path_list *ret);
void path_list_release(struct path_list *list);

/* The path that a random number leads to. */
void path_make(const struct path_list *list, uint64_t chance, char ret[static PATH_ROOM]);
/* The same for what is to be made: often a new name in a folder of the tree. */
void path_make_fresh(const struct path_list *list, uint64_t chance, char ret[static PATH_ROOM]);
