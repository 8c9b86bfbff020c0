#include "pack/tool/export/outputs.h"

#include "base/io.h"
#include "base/scope.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

void outputs_release(struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->count; i++) {
		if (outputs->list[i].made)
			unlink(outputs->list[i].partial);
		free(outputs->list[i].path);
		free(outputs->list[i].partial);
	}
	free(outputs->list);
	*outputs = (struct outputs){0};
}

int outputs_add(struct outputs *outputs, const char *path)
{
	struct output output = {.path = strdup(path)};
	struct output *list = reallocarray(outputs->list, outputs->count + 1, sizeof(*list));

	if (list)
		outputs->list = list;
	if (!list || !output.path || asprintf(&output.partial, "%s" OUTPUT_PARTIAL, path) < 0) {
		free(output.path);
		return -ENOMEM;
	}
	list[outputs->count++] = output;
	return 0;
}

/* Only a file is ever replaced. */
static int check_place(const char *path, bool replace, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EEXIST, "%s: exists, and is not a file", path);
	return replace ? 0 : err_set(err, -EEXIST, "%s: exists; --force replaces it", path);
}

int outputs_check(const struct outputs *outputs, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < outputs->count; i++) {
		r = check_place(outputs->list[i].path, outputs->replace, err);
		if (r == 0)
			r = check_place(outputs->list[i].partial, outputs->replace, err);
	}
	return r;
}

int outputs_create(struct outputs *outputs, size_t number, int *ret_fd)
{
	struct output *output = &outputs->list[number];
	int fd;

	if (outputs->replace)
		unlink(output->partial);
	fd = io_create(AT_FDCWD, output->partial, O_RDWR, 0666);
	if (fd < 0)
		return fd;
	output->made = true;
	*ret_fd = fd;
	return 0;
}

/* Some filesystems report a full disk only here. */
int outputs_close(int fd)
{
	int r = io_sync(fd, fdatasync);

	if (close(fd) < 0 && r >= 0)
		return -errno;
	return r < 0 ? r : 0;
}

int outputs_write(struct outputs *outputs, size_t number, const struct buf *bytes)
{
	int fd, r = outputs_create(outputs, number, &fd), closed;

	if (r < 0)
		return r;
	r = io_write_full(fd, bytes->data, bytes->len);
	closed = outputs_close(fd);
	return r < 0 ? r : closed;
}

static void sync_names(const struct outputs *outputs)
{
	if (outputs->count)
		io_sync_directory(outputs->list[0].path);
}

static int remove_replaced(const struct outputs *outputs, struct err *err)
{
	const char *path;

	for (size_t i = 0; i < outputs->count; i++) {
		path = outputs->list[i].path;
		if (unlink(path) < 0 && errno != ENOENT)
			return err_set(err, -errno, "%s: unlink: %s", path, strerror(errno));
		if (i == 0)
			sync_names(outputs);
	}
	sync_names(outputs);
	return 0;
}

static int rename_output(struct output *output, struct err *err)
{
	int r = io_rename(output->partial, output->path, false);

	output->made = r < 0;
	return r < 0 ? err_set(err, r, "%s: rename: %s", output->path, strerror(-r)) : 0;
}

/* They are whole, and may have taken hours. */
static void keep_partial(struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->count; i++)
		outputs->list[i].made = false;
	outputs->kept = true;
}

/* If one file cannot get its name, those before it lose theirs again. */
int outputs_finish(struct outputs *outputs, struct err *err)
{
	int r = outputs->replace ? remove_replaced(outputs, err) : 0;
	size_t i = outputs->count;

	while (r == 0 && i > 0) {
		if (i == 1)
			sync_names(outputs);
		r = rename_output(&outputs->list[--i], err);
	}
	if (io_is_refused(r) && i + 1 == outputs->count)
		keep_partial(outputs);
	while (r < 0 && ++i < outputs->count)
		unlink(outputs->list[i].path);
	if (r == 0)
		sync_names(outputs);
	return r;
}
