#include "pack/foreign/encoding/arena.h"
#include <stdalign.h>
#include <stdlib.h>

struct arena_chunk {
	struct arena_chunk *older;
	alignas(max_align_t) char bytes[ARENA_MOST];
};

static int chunk_add(struct arena *arena)
{
	struct arena_chunk *chunk = malloc(sizeof(*chunk));

	if (!chunk)
		return -1;
	chunk->older = arena->chunks;
	arena->chunks = chunk;
	arena->used = 0;
	return 0;
}

void *arena_get(struct arena *arena, size_t size)
{
	size_t align = alignof(max_align_t);
	void *place;

	if (size > ARENA_MOST)
		return NULL;
	if ((!arena->chunks || size > ARENA_MOST - arena->used) && chunk_add(arena) < 0)
		return NULL;
	place = arena->chunks->bytes + arena->used;
	arena->used += (size + align - 1) / align * align;
	return place;
}

static void chunks_free(struct arena_chunk *chunk)
{
	for (struct arena_chunk *older; chunk; chunk = older) {
		older = chunk->older;
		free(chunk);
	}
}

void arena_reset(struct arena *arena)
{
	if (!arena->chunks)
		return;
	chunks_free(arena->chunks->older);
	arena->chunks->older = NULL;
	arena->used = 0;
}

void arena_release(struct arena *arena)
{
	chunks_free(arena->chunks);
	*arena = (struct arena){0};
}
