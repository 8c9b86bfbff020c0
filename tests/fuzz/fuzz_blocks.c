/* Whatever the map of a copy in the disk cache says: the copy opens, if need be as an empty one,
 * and what it says of its pages stays within it. What is written to it is there, and is read again.
 * The first byte is the size of the pack, in pieces of two and a half pages. */
#include "base/math.h"
#include "base/scope.h"
#include "remote/block_parts.h"
#include "remote/blocks.h"
#include "tests/fuzz/fuzz.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

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

#define PIECE	    (READER_PAGE * 5 / 2)
#define PIECES_MOST UINT8_MAX

/* Memory for a read of all of the pack, in three pieces. */
static void must_have_memory(const struct part *part, uint64_t end)
{
	static char memory[PIECES_MOST * (size_t)PIECE + READER_PAGE];
	size_t first = end / 3, second = end / 2;
	const struct iovec iov[] = {
		{memory, first}, {memory + first, second}, {memory + first + second, end}};
	struct iovec pieces[4];
	uint64_t len = 0;
	int count = part_pieces(part, iov, 3, 0, pieces);

	must(count > 0 && count <= 3 && pieces[0].iov_base == memory + part->begin);
	for (int i = 0; i < count; i++)
		len += pieces[i].iov_len;
	must(len == part->end - part->begin);
}

static void use_parts(const struct blocks *blocks, uint64_t end)
{
	struct part parts[PARTS_MOST];
	unsigned count = end ? parts_divide(blocks, 0, end, parts) : 0;
	uint64_t bytes = 0;

	for (unsigned i = 0; i < count; i++) {
		must(parts[i].begin == (i ? parts[i - 1].end : 0) && parts[i].end > parts[i].begin);
		must_have_memory(&parts[i], end);
		bytes += part_bytes(blocks, &parts[i]);
	}
	must(bytes == blocks_size(blocks) && (!count || parts[count - 1].end == end));
}

/* Up to three pages, the last of which may be the last of the pack. */
static void write_pages(struct blocks *blocks, uint64_t size)
{
	static _Alignas(READER_PAGE) char pages[3 * READER_PAGE], again[sizeof(pages)];
	uint64_t at = size / 2 / READER_PAGE * READER_PAGE, to;
	size_t len = min(sizeof(pages), size - at);

	memset(pages, (int)(size % 251) + 1, sizeof(pages));
	must(blocks_write(blocks, pages, len, at) == 0);
	must(reader_get_full(blocks_reader(blocks), again, len, at) == 0);
	must(memcmp(pages, again, len) == 0);
	must(!len || blocks_look(blocks, at, pages_end(at + len), &to));
	must(!len || to == pages_end(at + len));
}

static void use_notes(struct blocks *blocks)
{
	SCOPE_CLOSE int map = blocks_open_map(blocks);

	must(map >= 0 && blocks_may_fill(blocks));
	blocks_give_up_filling(blocks);
	must(blocks_may_fill(blocks) && blocks_number(blocks));
	blocks_set_complete(blocks);
	must(blocks_complete(blocks) && blocks_see_complete(blocks));
}

static void use(struct blocks *blocks, uint64_t size)
{
	uint64_t end = pages_end(size), to;

	must(blocks_size(blocks) == size);
	for (uint64_t at = 0; at < end; at = to) {
		(void)blocks_look(blocks, at, end, &to);
		must(to > at && to <= end && to % READER_PAGE == 0);
	}
	use_parts(blocks, end);
	write_pages(blocks, size);
	blocks_forget(blocks, size / 2, size - size / 2);
	(void)blocks_see_complete(blocks);
	(void)blocks_used(blocks);
	use_notes(blocks);
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
	whole = data[0] * (uint64_t)PIECE;
	write_file(at, "data", data, 0, whole);
	write_file(at, "map", data + 1, size - 1, size - 1);
	if (blocks_open_complete(at, &complete) == 0)
		reader_free(complete);
	must(blocks_open(at, whole, 0600, &blocks) == 0);
	use(blocks, whole);
	blocks_free(blocks);
	return 0;
}
