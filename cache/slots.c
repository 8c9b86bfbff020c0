#include "cache/slots.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

/* Maps one huge page more than asked for and returns what sticks out on both sides. */
static char *map_aligned(size_t bytes)
{
	char *all = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before;

	if (all == MAP_FAILED)
		return NULL;
	before = -(uintptr_t)all & (HUGE_PAGE - 1);
	if (before)
		munmap(all, before);
	munmap(all + before + bytes, HUGE_PAGE - before);
	madvise(all + before, bytes, MADV_HUGEPAGE);
	return all + before;
}

int slots_init(struct slots *slots, uint64_t bytes)
{
	uint64_t count = bytes / SLOT_BYTES;

	*slots = (struct slots){0};
	if (count == 0 || count > UINT32_MAX)
		return -ENOMEM;
	slots->count = (uint32_t)count;
	slots->free = malloc(count * sizeof(*slots->free));
	slots->arena = map_aligned((size_t)count * SLOT_BYTES);
	if (slots->free && slots->arena)
		return 0;
	slots_release(slots);
	return -ENOMEM;
}

void slots_release(struct slots *slots)
{
	if (slots->arena)
		munmap(slots->arena, (size_t)slots->count * SLOT_BYTES);
	free(slots->free);
	*slots = (struct slots){0};
}

void slots_take(struct slots *slots, uint32_t *chain, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		chain[i] = slots->freed ? slots->free[--slots->freed] : slots->touched++;
}

/* Backwards, so that the next chain comes in the same order: neighbours stay neighbours. */
void slots_give(struct slots *slots, const uint32_t *chain, uint32_t count)
{
	while (count)
		slots->free[slots->freed++] = chain[--count];
}
