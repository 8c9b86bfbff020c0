#include "fs/order.h"
#include "base/io.h"
#include "base/scope.h"
#include "fs/order_ioctl.h"
#include <stdio.h>
#include <string.h>

#define ROOM_FIRST 1024

void order_release(struct order *order)
{
	free(order->files);
	*order = (struct order){0};
}

static int order_append(struct order *order, uint64_t extent)
{
	size_t room = order->room ? 2 * order->room : ROOM_FIRST;
	uint32_t *files;

	if (order->count == UINT32_MAX || extent > UINT32_MAX)
		return -EFBIG;
	if (order->count == order->room) {
		files = reallocarray(order->files, room, sizeof(*files));
		if (!files)
			return -ENOMEM;
		order->files = files;
		order->room = room;
	}
	order->files[order->count++] = (uint32_t)extent;
	return 0;
}

int order_add(struct order *order, const struct tree *tree, const char *path, size_t len)
{
	struct dataset_entry e;
	uint32_t entry;
	int r = tree_find(tree, path, len, &entry);

	if (r < 0)
		return r;
	dataset_entry(tree->dataset, entry, &e);
	switch (tree_type(e.kind)) {
	case S_IFDIR:
		return -EISDIR;
	case S_IFLNK:
		return -ELOOP;
	default:
		return e.size ? order_append(order, dataset_first_extent(tree->dataset, entry)) : 0;
	}
}

static int refuse_line(const char *file, uint64_t number, const char *line, int error,
		       struct err *err)
{
	if (error == -ENOMEM || error == -EFBIG)
		return err_set(err, error, "%s: %s", file, strerror(-error));
	return err_set(err, error, "%s: line %llu: '%.200s' %s", file, (unsigned long long)number,
		       line, order_refusal(error));
}

static int load_lines(struct order *order, const struct tree *tree, const char *name, FILE *file,
		      struct err *err)
{
	SCOPE_FREE char *line = NULL;
	uint64_t number = 0;
	size_t room = 0, len;
	int r;

	while ((r = io_line(file, &line, &room, &len)) == 0) {
		number++;
		r = len > 0 ? order_add(order, tree, line, len) : 0;
		if (r < 0)
			return refuse_line(name, number, line, r, err);
	}
	return r < 0 ? err_set(err, r, "%s: %s", name, strerror(-r)) : 0;
}

int order_load(const struct tree *tree, const char *file, struct order *ret, struct err *err)
{
	SCOPE_FILE FILE *stream = fopen(file, "re");
	SCOPE(order_release) struct order order = {0};
	int r;

	if (!stream)
		return err_set(err, -errno, "%s: %s", file, strerror(errno));
	r = load_lines(&order, tree, file, stream, err);
	if (r == 0 && order.count == 0)
		r = err_set(err, -EINVAL, "%s: no paths in it; '--order' takes one a line", file);
	if (r < 0)
		return r;
	*ret = order;
	order = (struct order){0};
	return 0;
}
