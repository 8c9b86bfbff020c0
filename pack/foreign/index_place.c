/* Where an index is kept: beside the container, or else in the disk cache and in a folder of the
 * user. */
#include "base/digest.h"
#include "base/io.h"
#include "base/name.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "pack/foreign/index_internal.h"
#include <libgen.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static int name_beside(const struct foreign_tree *tree, struct buf *ret)
{
	const char *path = tree->source->path, *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash + 1 - path) : 0;

	if (name_scheme(path) > 0)
		return -ENOENT;
	return buf_addf(ret, "%.*s.%s" NAME_INDEX, folder, path, path + folder);
}

static int add_hash(const struct foreign_tree *tree, struct buf *ret)
{
	const struct foreign_source *source = tree->source;
	const char *place = source->place;
	char name[DIGEST_DIGITS + 1];

	digest_text(name_scheme(source->path) && place ? place : source->path, name);
	return buf_addf(ret, "/%s" NAME_INDEX, name);
}

static int name_in_disk_cache(const struct foreign_tree *tree, struct buf *ret)
{
	const char *folder = tree->source->settings->index_folder;
	int r = folder ? buf_adds(ret, folder) : -ENOENT;

	return r < 0 ? r : add_hash(tree, ret);
}

static int name_cached(const struct foreign_tree *tree, struct buf *ret)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	bool set = cache && *cache == '/';
	int r;

	if (!set && (!home || *home != '/' || access(home, F_OK) < 0))
		return -ENOENT;
	r = buf_addf(ret, "%s%s/foldfs/index", set ? cache : home, set ? "" : "/.cache");
	return r < 0 ? r : add_hash(tree, ret);
}

int index_place_name(const struct foreign_tree *tree, enum index_place place, struct buf *ret)
{
	switch (place) {
	case INDEX_BESIDE:
		return name_beside(tree, ret);
	case INDEX_IN_DISK_CACHE:
		return name_in_disk_cache(tree, ret);
	case INDEX_CACHED:
		return name_cached(tree, ret);
	default: /* INDEX_PUBLISHED */
		return buf_addf(ret, "%s" NAME_INDEX "%s", tree->source->path, tree->source->query);
	}
}

bool index_file_is_kept(const struct foreign_tree *tree)
{
	SCOPE(buf_release) struct buf name = BUF_INIT;

	return index_place_name(tree, INDEX_IN_DISK_CACHE, &name) == 0 ||
	       index_place_name(tree, INDEX_CACHED, &name) == 0;
}

/* In a folder as /tmp nobody else can replace the container, but anybody can lay an index beside
 * it. Elsewhere, whoever can do the one can do the other. $XDG_CACHE_HOME may be such a folder, in
 * which somebody else has made those below it. */
bool index_place_is_trusted(const struct foreign_tree *tree, enum index_place place,
			    const char *name, struct reader *index)
{
	SCOPE_FREE char *copy = strdup(name);
	struct stat above, own, container;

	if (place == INDEX_IN_DISK_CACHE)
		return true;
	if (!copy || fstat(reader_file_fd(index), &own) < 0)
		return false;
	if (own.st_uid == 0 || own.st_uid == geteuid() ||
	    (stat(tree->source->path, &container) == 0 && own.st_uid == container.st_uid))
		return true;
	return place != INDEX_CACHED && stat(dirname(copy), &above) == 0 &&
	       (!(above.st_mode & S_ISVTX) || own.st_uid == above.st_uid);
}

/* --- writing ---------------------------------------------------------------------------------- */

static int write_in_place(const struct foreign_tree *tree, enum index_place place,
			  const struct iovec *parts, int count)
{
	SCOPE(buf_release) struct buf name = BUF_INIT;
	int r = index_place_name(tree, place, &name);
	mode_t mode = 0660;
	struct stat st;

	if (r < 0)
		return r;
	/* Its folders are made where they are missing. */
	for (char *slash = name.data; place == INDEX_CACHED && (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		if (mkdir(name.data, 0700) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	/* An index has names of files: only those who may read the container may read it; or its
	 * copy. */
	if (place != INDEX_IN_DISK_CACHE)
		mode = stat(tree->source->path, &st) == 0 ? st.st_mode & 0666 : 0600;
	return io_put(name.data, mode, parts, count);
}

/* Commands without the disk cache find the one in the folder of the user. */
static int write_in_places(const struct foreign_tree *tree, const struct iovec *parts, int count)
{
	SCOPE_CLOSE int in_disk_cache = -ENOENT;
	int r;

	if (tree->source->in_memory)
		return -ENOENT;
	r = write_in_place(tree, INDEX_BESIDE, parts, count);
	if (r >= 0)
		return r;
	in_disk_cache = write_in_place(tree, INDEX_IN_DISK_CACHE, parts, count);
	r = write_in_place(tree, INDEX_CACHED, parts, count);
	return r < 0 && in_disk_cache >= 0 ? steal_fd(&in_disk_cache) : r;
}

int index_place_keep(const struct foreign_tree *tree, const struct iovec *parts, int count,
		     bool in_memory, struct reader **ret)
{
	SCOPE_CLOSE int fd = write_in_places(tree, parts, count);
	int r;

	if (fd < 0 && in_memory) {
		fd = memfd_create("foldfs-index", MFD_CLOEXEC);
		r = fd < 0 ? -errno : io_write_parts(fd, parts, count);
		if (r < 0)
			return r;
	}
	return fd < 0 ? fd : reader_file_open_again(fd, ret);
}
