/* Whatever the map of a copy in the disk cache says: the copy opens, if need be as an empty one,
 * and what it says of its pages stays within it. The first byte is the size of the pack in half
 * pages. */
#include "base/scope.h"
#include "remote/block_parts.h"
#include "remote/blocks.h"
#include "tests/fuzz/fuzz.h"
#include <fcntl.h>
#include <stdio.h>

static char folder[] = "/dev/shm/fuzz_blocks.XXXXXX";

static void remove_folder(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	(void)!system(command);
}

static int make_folder(void)
{
	must(mkdtemp(folder) && atexit(remove_folder) == 0);
	return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void write_file(int at, const char *name, const uint8_t *data, size_t size, uint64_t whole)
{
	SCOPE_CLOSE int fd = openat(at, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	must(fd >= 0 && ftruncate(fd, 0) == 0 && io_pwrite_full(fd, data, size, 0) == 0);
	must(ftruncate(fd, (off_t)whole) == 0);
}

static void use(struct blocks *blocks, uint64_t size)
{
	uint64_t end = pages_end(size), to;
	struct part parts[PARTS_MOST];
	unsigned count;

	must(blocks_size(blocks) == size);
	for (uint64_t at = 0; at < end; at = to) {
		(void)blocks_look(blocks, at, end, &to);
		must(to > at && to <= end && to % READER_PAGE == 0);
	}
	count = end ? parts_divide(blocks, 0, end, parts) : 0;
	for (unsigned i = 0; i < count; i++)
		must(parts[i].begin == (i ? parts[i - 1].end : 0) && parts[i].end > parts[i].begin);
	must(!count || parts[count - 1].end == end);
	blocks_forget(blocks, size / 2, size - size / 2);
	(void)blocks_see_complete(blocks);
	(void)blocks_used(blocks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int at = -1;
	struct reader *complete = NULL;
	uint64_t whole;
	struct blocks *blocks;

	if (at < 0)
		at = make_folder();
	if (size == 0)
		return 0;
	whole = data[0] * (uint64_t)READER_PAGE / 2;
	write_file(at, "data", data, 0, whole);
	write_file(at, "map", data + 1, size - 1, size - 1);
	if (blocks_open_complete(at, &complete) == 0)
		reader_free(complete);
	must(blocks_open(at, whole, 0600, &blocks) == 0);
	use(blocks, whole);
	blocks_free(blocks);
	return 0;
}
