#include "pack/tool/read/batch_reader.h"

#include "base/cached.h"
#include "base/io.h"
#include "base/scope.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#define PAGE	  ((uint64_t)4096)
#define HUGE_PAGE ((size_t)2 << 20)

/* A second opening of the very file; -1 where it cannot be opened so. */
static int open_direct(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
}

/* In huge pages a batch is one request of the device; in single ones, which it takes some 250
 * of, it would be many. */
int batch_reader_init(struct batch_reader *reader, struct dataset *dataset)
{
	void *memory;

	if (posix_memalign(&memory, HUGE_PAGE, BATCH_BYTES + 2 * PAGE) != 0)
		return -ENOMEM;
	madvise(memory, BATCH_BYTES, MADV_HUGEPAGE);
	*reader = (struct batch_reader){
		.dataset = dataset, .memory = memory, .direct = open_direct(dataset_fd(dataset))};
	return 0;
}

void batch_reader_release(struct batch_reader *reader)
{
	if (!reader->memory)
		return;
	scope_close(&reader->direct);
	free(reader->memory);
	reader->memory = NULL;
}

/* Half of it is enough: what is missing is then for the kernel to read and to keep. */
static bool is_in_memory(const struct batch_reader *reader, const struct batch *batch)
{
	/* Of no bytes it would count the whole pack. */
	if (batch->len == 0)
		return true;
	return cached_pages(dataset_fd(reader->dataset), batch->start, batch->len) >=
	       (int64_t)(batch->len / PAGE / 2 + 1);
}

/* Whole pages, as direct I/O wants them. The pack may end within the last one. */
static int read_directly(struct batch_reader *reader, const struct batch *batch)
{
	uint64_t from = batch->start / PAGE * PAGE;
	size_t before = (size_t)(batch->start - from);
	size_t len = (size_t)((before + batch->len + PAGE - 1) / PAGE * PAGE);
	ssize_t n = pread(reader->direct, reader->memory, len, (off_t)from);

	if (n < 0)
		return -errno;
	reader->data = reader->memory + before;
	return (size_t)n < before + batch->len ? -ENODATA : 0;
}

/* A direct read that fails or is short proves nothing: this may not be a filesystem for it. */
void batch_reader_read(struct batch_reader *reader, const struct batch *batch)
{
	reader->start = batch->start;
	if (reader->direct >= 0 && !is_in_memory(reader, batch) &&
	    read_directly(reader, batch) == 0) {
		reader->error = 0;
		return;
	}
	reader->data = reader->memory;
	reader->error =
		io_pread_full(dataset_fd(reader->dataset), reader->data, batch->len, batch->start);
}

int batch_reader_extent(struct batch_reader *reader, uint64_t number, struct dataset_extent *ret,
			char **ret_data)
{
	struct dataset_extent extent;
	char *data;
	int r = 0;

	dataset_extent(reader->dataset, number, &extent);
	data = reader->data + (extent.offset - reader->start);
	if (reader->error)
		r = io_pread_full(dataset_fd(reader->dataset), data, extent.size, extent.offset);
	if (r < 0)
		return r;
	*ret = extent;
	*ret_data = data;
	return 0;
}
