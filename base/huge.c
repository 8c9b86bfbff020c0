#include "base/huge.h"
#include <stdint.h>
#include <sys/mman.h>

/* Maps one huge page more than asked for and returns what sticks out on both sides. */
char *huge_map(size_t bytes)
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

void huge_unmap(char *memory, size_t bytes)
{
	if (memory)
		munmap(memory, bytes);
}
