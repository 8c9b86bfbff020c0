/* Memory for many small things that go at once. Nothing in it moves.
 *
 * `struct arena a = {0}` is empty. Not thread-safe. */
#pragma once

#include <stddef.h>

#define ARENA_MOST ((size_t)64 << 10) /* the most at once */

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks; /* the newest first */
	size_t used;		    /* of the newest, bytes */
};

/* Aligned for any type and not cleared; NULL: no memory, or size is over ARENA_MOST. */
void *arena_get(struct arena *arena, size_t size);
/* All that was got is gone; one chunk stays for what comes next. */
void arena_reset(struct arena *arena);
void arena_release(struct arena *arena);
