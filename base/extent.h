/* A run of bytes of one file, as the cache reads, checks and keeps it. It is looked up once in the
 * pack, when it is planned or requested, and then passed on. */
#ifndef BASE_EXTENT_H
#define BASE_EXTENT_H

#include <stdint.h>

struct extent {
	uint64_t number;	 /* through the whole tree */
	uint64_t offset;	 /* as the reader counts, bytes */
	uint64_t file, file_end; /* the extents of its file: the first, and one past the last */
	uint32_t size;		 /* bytes */
};

#endif
