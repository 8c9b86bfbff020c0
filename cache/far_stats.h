/* How far storage is read. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cache_far {
	uint64_t reads, most; /* ahead of readers, under way; as many as fill the link, it seems */
	uint64_t read_bytes, read_us; /* of one; 0: not known yet */
	bool full;		      /* no memory is left for more */
};
