#include "fs/life/place.h"
#include "base/fstype.h"
#include "base/scope.h"
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

const char *place_name(const char *path)
{
	const char *name = strrchr(path, '/') + 1;

	return *name ? name : ".";
}

int place_above(const char *path)
{
	char above[PATH_MAX];
	int fd;

	snprintf(above, sizeof(above), "%.*s", (int)(strrchr(path, '/') + 1 - path), path);
	fd = open(above, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* NULL with errno. */
static char *absolute_path(const char *path)
{
	SCOPE_FREE char *above = strdup(path), *copy = strdup(path), *folder = NULL;
	char *real = realpath(path, NULL), *ret;

	if (real || (errno != ENOENT && errno != ENOTCONN && errno != ECONNABORTED) || !above ||
	    !copy)
		return real;
	folder = realpath(dirname(above), NULL);
	if (!folder ||
	    asprintf(&ret, "%s/%s", strcmp(folder, "/") ? folder : "", basename(copy)) < 0)
		return NULL;
	return ret;
}

int place_find(const char *path, char **ret_path, int *ret_above)
{
	SCOPE_FREE char *absolute = absolute_path(path);
	SCOPE_CLOSE int fd = -1;
	char opened[64], above[PATH_MAX];
	ssize_t len;

	if (!absolute)
		return -errno;
	fd = place_above(absolute);
	if (fd < 0)
		return fd;
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
	len = readlink(opened, above, sizeof(above));
	if (len < 0 || len == sizeof(above))
		*ret_path = steal_ptr(&absolute);
	else if (asprintf(ret_path, "%.*s/%s", len > 1 ? (int)len : 0, above,
			  place_name(absolute)) < 0)
		return -ENOMEM;
	*ret_above = steal_fd(&fd);
	return 0;
}

int place_open(int above, const char *name, int flags)
{
	int fd = openat(above, name, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int place_create(int above, const char *name, bool *ret_made, struct statx_file *ret)
{
	SCOPE_CLOSE int fd = -1;
	struct statfs fs;

	*ret_made = false;
	if (mkdirat(above, name, 0755) < 0)
		return errno == EEXIST ? 0 : -errno;
	fd = place_open(above, name, O_PATH);
	*ret_made = fd >= 0 && fstatfs(fd, &fs) == 0 && !fstype_is_remote(&fs) &&
		    statx_file(above, name, ret) == 0;
	return 0;
}

int place_remove(int above, const char *name, const struct statx_file *made)
{
	struct statx_file found;
	int r = statx_file(above, name, &found);

	if (r < 0)
		return r;
	if (!statx_is_same(&found, made))
		return -ESTALE;
	return unlinkat(above, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}
