/* The libraries that unpack: loaded when they are needed, so that nobody else must have them. A
 * static program cannot load any, and has those of zlib, zstd and snappy in itself. Any thread. */
#pragma once

#include "base/err.h"

struct codec_library {
	const char *file, *package, *function; /* the function is one that it must have */
};

/* Stores the address of a function at `ret`, which is a pointer to such functions. The library
 * stays loaded. Returns 0, or -ENOSYS: err says what is missing. */
int codec_library_find(const struct codec_library *library, const char *name, void *ret,
		       struct err *err);
