#include "pack/tool/read/view.h"

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

/* In huge pages a window is one request of the device; in single ones, which it takes some 250
 * of, it would be many. */
int view_init(struct view *view, struct dataset *dataset)
{
	void *memory;

	if (posix_memalign(&memory, HUGE_PAGE, WINDOW_BYTES + 2 * PAGE) != 0)
		return -ENOMEM;
	madvise(memory, WINDOW_BYTES, MADV_HUGEPAGE);
	*view = (struct view){
		.dataset = dataset, .memory = memory, .direct = open_direct(dataset_fd(dataset))};
	return 0;
}

void view_release(struct view *view)
{
	if (!view->memory)
		return;
	scope_close(&view->direct);
	free(view->memory);
	view->memory = NULL;
}

/* Half of it is enough: what is missing is then for the kernel to read and to keep. */
static bool is_in_memory(const struct view *view, const struct window *window)
{
	/* Of no bytes it would count the whole pack. */
	if (window->len == 0)
		return true;
	return cached_pages(dataset_fd(view->dataset), window->start, window->len) >=
	       (int64_t)(window->len / PAGE / 2 + 1);
}

/* Whole pages, as direct I/O wants them. The pack may end within the last one. */
static int read_directly(struct view *view, const struct window *window)
{
	uint64_t from = window->start / PAGE * PAGE;
	size_t before = (size_t)(window->start - from);
	size_t len = (size_t)((before + window->len + PAGE - 1) / PAGE * PAGE);
	ssize_t n = pread(view->direct, view->memory, len, (off_t)from);

	if (n < 0)
		return -errno;
	view->data = view->memory + before;
	return (size_t)n < before + window->len ? -ENODATA : 0;
}

/* A direct read that fails or is short proves nothing: this may not be a filesystem for it. */
void view_read(struct view *view, const struct window *window)
{
	view->start = window->start;
	if (view->direct >= 0 && !is_in_memory(view, window) && read_directly(view, window) == 0) {
		view->error = 0;
		return;
	}
	view->data = view->memory;
	view->error =
		io_pread_full(dataset_fd(view->dataset), view->data, window->len, window->start);
}

int view_extent(struct view *view, uint64_t number, struct dataset_extent *ret, char **ret_data)
{
	struct dataset_extent extent;
	char *data;
	int r = 0;

	dataset_extent(view->dataset, number, &extent);
	data = view->data + (extent.offset - view->start);
	if (view->error)
		r = io_pread_full(dataset_fd(view->dataset), data, extent.size, extent.offset);
	if (r < 0)
		return r;
	*ret = extent;
	*ret_data = data;
	return 0;
}
