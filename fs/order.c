#include "fs/order.h"
#include "base/io.h"
#include "base/scope.h"
#include "fs/mount.h"
#include "fs/order_ioctl.h"
#include <stdio.h>
#include <string.h>

#define ROOM_FIRST 1024

void order_release(struct order *order)
{
	free(order->files);
	*order = (struct order){0};
}

static int append(struct order *order, uint64_t extent)
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

/* Name by name, from the mount's root, which need not be the pack's. */
static int find(const struct mount *mount, const char *path, size_t len, uint32_t *ret)
{
	const char *end = path + len;
	uint32_t entry = mount->root;

	while (path < end) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		size_t name = (size_t)((slash ? slash : end) - path);
		int r = 0;

		if (name > 0 && !(name == 1 && *path == '.'))
			r = dataset_lookup(mount->dataset, entry, path, name, &entry);
		if (r < 0)
			return r;
		path += name + (slash != NULL);
	}
	*ret = entry;
	return 0;
}

int order_add(struct order *order, const struct mount *mount, const char *path, size_t len)
{
	struct dataset_entry e;
	uint32_t entry;
	int r = find(mount, path, len, &entry);

	if (r < 0)
		return r;
	dataset_entry(mount->dataset, entry, &e);
	switch (mount_type(e.kind)) {
	case S_IFDIR:
		return -EISDIR;
	case S_IFLNK:
		return -ELOOP;
	default:
		return e.size ? append(order, dataset_first_extent(mount->dataset, entry)) : 0;
	}
}

static int refuse(const char *file, uint64_t number, const char *line, int error, struct err *err)
{
	if (error == -ENOMEM || error == -EFBIG)
		return err_set(err, error, "%s: %s", file, strerror(-error));
	return err_set(err, error, "%s: line %llu: '%.200s' %s", file, (unsigned long long)number,
		       line, order_refusal(error));
}

static int load_lines(struct order *order, const struct mount *mount, const char *name, FILE *file,
		      struct err *err)
{
	SCOPE_FREE char *line = NULL;
	uint64_t number = 0;
	size_t room = 0, len;
	int r;

	while ((r = io_line(file, &line, &room, &len)) == 0) {
		number++;
		r = len > 0 ? order_add(order, mount, line, len) : 0;
		if (r < 0)
			return refuse(name, number, line, r, err);
	}
	return r < 0 ? err_set(err, r, "%s: %s", name, strerror(-r)) : 0;
}

int order_load(const struct mount *mount, const char *file, struct order *ret, struct err *err)
{
	SCOPE_FILE FILE *stream = fopen(file, "re");
	SCOPE(order_release) struct order order = {0};
	int r;

	if (!stream)
		return err_set(err, -errno, "%s: %s", file, strerror(errno));
	r = load_lines(&order, mount, file, stream, err);
	if (r == 0 && order.count == 0)
		r = err_set(err, -EINVAL, "%s: no paths in it; '--order' takes one a line", file);
	if (r < 0)
		return r;
	*ret = order;
	order = (struct order){0};
	return 0;
}
