#include "pack/tool/create/target.h"

#include "base/io.h"
#include "base/scope.h"
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static char *directory_of(const char *path)
{
	SCOPE_FREE char *copy = strdup(path);

	return copy ? strdup(dirname(copy)) : NULL;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Climbs from a directory to the root, which is its own parent. Returns 1 where the climb
 * passes the directory `looked_for`, else 0. */
static int lies_below(int directory, const struct stat *looked_for)
{
	SCOPE_CLOSE int fd = fcntl(directory, F_DUPFD_CLOEXEC, 0);
	struct stat here, above;
	int up;

	if (fd < 0 || fstat(fd, &here) < 0)
		return -errno;
	for (;;) {
		if (is_same_file(&here, looked_for))
			return 1;
		up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (up < 0)
			return -errno;
		close(fd);
		fd = up;
		if (fstat(fd, &above) < 0)
			return -errno;
		if (is_same_file(&here, &above))
			return 0;
		here = above;
	}
}

int target_check(const char *path, int source, struct err *err)
{
	SCOPE_FREE char *directory = directory_of(path);
	SCOPE_CLOSE int fd = directory ? open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	size_t len = strlen(path);
	struct stat st, there;
	int r;

	if (!directory)
		return -ENOMEM;
	if (len == 0 || path[len - 1] == '/')
		return err_set(err, -EINVAL, "not a name for a file");
	if (fd < 0)
		return err_set(err, -errno, "cannot open '%s': %s", directory, strerror(errno));
	if (fstat(source, &st) < 0)
		return -errno;
	if (stat(path, &there) == 0 && is_same_file(&there, &st))
		return err_set(err, -EINVAL, "would replace its own source; choose another name");
	r = lies_below(fd, &st);
	if (r == 1)
		return err_set(err, -EINVAL,
			       "would lie inside the folder that is packed; choose a place "
			       "outside SOURCE");
	return r;
}

bool target_is_of(const char *path, const char *pack)
{
	static const char *const suffixes[] = {"", ".partial", ".partial.journal"};
	SCOPE_FREE char *above = directory_of(path), *above_pack = directory_of(pack);
	const char *slash = strrchr(path, '/'), *pack_slash = strrchr(pack, '/');
	struct stat a, b;
	bool beside = above && above_pack && stat(above, &a) == 0 && stat(above_pack, &b) == 0 &&
		      is_same_file(&a, &b);

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		SCOPE_FREE char *written = NULL;

		if (asprintf(&written, "%s%s", pack, suffixes[i]) < 0)
			continue;
		if (stat(path, &a) == 0 && stat(written, &b) == 0
			    ? is_same_file(&a, &b)
			    : beside && strcmp(slash ? slash + 1 : path,
					       written + (pack_slash ? pack_slash + 1 - pack
								     : 0)) == 0)
			return true;
	}
	return false;
}

bool target_replaceable(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

uint64_t target_free(const char *path)
{
	SCOPE_FREE char *directory = directory_of(path);
	struct statvfs st;

	if (!directory || statvfs(directory, &st) < 0)
		return 0;
	return (uint64_t)st.f_bavail * st.f_frsize;
}

/* A value starts on a page of its own and fills half of its last one on average; a key, its
 * node and its row of the index take less than 200 bytes. */
uint64_t target_estimate(uint64_t bytes, uint64_t entries)
{
	return bytes + entries * (2048 + 200) + 64 * 1024;
}

int target_unnamed(const char *path)
{
	SCOPE_FREE char *directory = directory_of(path), *name = NULL;
	uint64_t number;
	int fd;

	if (!directory)
		return -ENOMEM;
	fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EISDIR && !io_is_refused(-errno)))
		return fd < 0 ? -errno : fd;
	if (getrandom(&number, sizeof(number), 0) < 0)
		return -errno;
	if (asprintf(&name, "%s/.foldpack-%016" PRIx64, directory, number) < 0)
		return -ENOMEM;
	fd = io_create(AT_FDCWD, name, O_RDWR, 0600);
	if (fd >= 0)
		unlink(name);
	return fd;
}
