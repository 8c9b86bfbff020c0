/* A run of bytes of one file, as the cache reads, checks and keeps it. It is looked up in the pack
 * once, when it is planned or requested, and then passed on. */
#pragma once

#include <stdint.h>

struct extent {
	uint64_t number;	 /* counted through the whole tree */
	uint64_t offset;	 /* in the reader, bytes */
	uint64_t file, file_end; /* the extents of its file: the first, and one past the last */
	uint32_t size;		 /* bytes */
};
