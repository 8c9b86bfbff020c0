#include "pack/foreign/index_place.h"
#include "base/io.h"
#include "base/name.h"
#include "base/scope.h"
#include "pack/foreign/index_key.h"
#include "pack/xxh3.h"
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define SUFFIX ".foldfs-index"

static int name_beside(const struct foreign_tree *tree, struct buf *ret)
{
	const char *path = tree->source->path;
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash + 1 - path) : 0;

	if (name_scheme(path) > 0)
		return -ENOENT;
	return buf_addf(ret, "%.*s.%s" SUFFIX, folder, path, path + folder);
}

static int name_cached(const struct foreign_tree *tree, struct buf *ret)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	const char *name = index_container(tree);
	bool set = cache && *cache == '/';

	if (!set && (!home || *home != '/'))
		return -ENOENT;
	return buf_addf(ret, "%s%s/foldfs/index/%016" PRIx64 SUFFIX, set ? cache : home,
			set ? "" : "/.cache", XXH3_64bits(name, strlen(name)));
}

int index_place_name(const struct foreign_tree *tree, enum index_place place, struct buf *ret)
{
	return place == INDEX_BESIDE ? name_beside(tree, ret) : name_cached(tree, ret);
}

/* --- writing ---------------------------------------------------------------------------------- */

static int make_folders(const char *path)
{
	SCOPE_FREE char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	for (char *slash = copy; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

/* An index has names of files: only those who may read the container may read it. */
static mode_t mode_of(const struct foreign_tree *tree)
{
	struct stat st;

	return stat(tree->source->path, &st) == 0 ? st.st_mode & 0666 : 0600;
}

static int put_parts(int fd, const struct iovec *parts, int count)
{
	int r = 0;

	for (int i = 0; r == 0 && i < count; i++)
		r = io_write_full(fd, parts[i].iov_base, parts[i].iov_len);
	return r;
}

static int open_unnamed(const char *name, mode_t mode)
{
	SCOPE_FREE char *folder = strdup(name);
	char *slash = folder ? strrchr(folder, '/') : NULL;

	if (!slash)
		return -1;
	slash[1] = '\0';
	return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
}

static int link_file(int fd, const char *name)
{
	char opened[64];

	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, opened, AT_FDCWD, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* Returns a descriptor. `unnamed`: the file has no name until it is whole. */
static int write_file(const char *name, mode_t mode, bool unnamed, const struct iovec *parts,
		      int count)
{
	SCOPE(buf_release) struct buf temporary = BUF_INIT;
	SCOPE_CLOSE int fd = -1;
	int r = buf_addf(&temporary, "%s.%d", name, (int)gettid());

	if (r < 0)
		return r;
	fd = unnamed ? open_unnamed(name, mode)
		     : open(temporary.data, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	r = put_parts(fd, parts, count);
	if (r == 0 && unnamed)
		r = link_file(fd, temporary.data);
	if (r == 0 && rename(temporary.data, name) < 0)
		r = -errno;
	if (r < 0 && !unnamed)
		unlink(temporary.data);
	return r < 0 ? r : steal_fd(&fd);
}

/* Not all filesystems have unnamed files. */
static int write_in_place(const struct foreign_tree *tree, enum index_place place,
			  const struct iovec *parts, int count)
{
	SCOPE(buf_release) struct buf name = BUF_INIT;
	int r = index_place_name(tree, place, &name);

	if (r == 0 && place == INDEX_CACHED)
		r = make_folders(name.data);
	if (r < 0)
		return r;
	r = write_file(name.data, mode_of(tree), true, parts, count);
	return r < 0 ? write_file(name.data, mode_of(tree), false, parts, count) : r;
}

int index_place_write(const struct foreign_tree *tree, const struct iovec *parts, int count)
{
	int r = -ENOENT;

	if (tree->source->in_memory)
		return r;
	for (unsigned place = 0; r < 0 && place < INDEX_PLACES; place++)
		r = write_in_place(tree, place, parts, count);
	return r;
}

int index_memory_write(const struct iovec *parts, int count)
{
	SCOPE_CLOSE int fd = memfd_create("foldfs-index", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : put_parts(fd, parts, count);

	return r < 0 ? r : steal_fd(&fd);
}
