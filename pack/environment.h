/* A folder that is an LMDB environment, by the name of the file in it, data.mdb: what else is in
 * it, which nobody sees who looks at the LMDB. */
#pragma once

#include <limits.h>
#include <stddef.h>

struct environment {
	size_t images;		  /* images and folders: what a user would pack */
	char image[NAME_MAX + 1]; /* one of these */
	size_t others;		  /* files that are neither */
	char other[NAME_MAX + 1]; /* one of these */
};

/* What an environment has, and exporters leave beside it to be read with it, does not count.
 * Returns 0 or -errno. */
int environment_look(int folder, struct environment *ret);
