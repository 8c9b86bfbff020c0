#include "fs/nofuse/skeleton.h"
#include "base/scope.h"
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/vfs.h>

#define OVERLAYFS_MAGIC 0x794c7630

/* A path below the folder, which grows and shrinks on the way through the tree. */
struct place {
	struct skeleton *skeleton;
	struct err *err;
	size_t len;
	char path[PATH_MAX];
};

/* What is done at each folder and link, before or after what is in it. 0; 1: not with what is in
 * it; or -errno. */
typedef int visit_fn(struct place *place, uint32_t entry, const struct dataset_child *child);

static int enter(struct place *place, const char *name, size_t len)
{
	if (place->len + len + 2 > sizeof(place->path))
		return err_set(place->err, -ENAMETOOLONG,
			       "a path in the pack is too long for folders on a disk");
	if (place->len)
		place->path[place->len++] = '/';
	memcpy(place->path + place->len, name, len);
	place->len += len;
	place->path[place->len] = '\0';
	return 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the tree, FORMAT_DEPTH_MAX at most */
static int visit(struct place *place, uint32_t folder, visit_fn *before, visit_fn *after)
{
	const struct tree *tree = place->skeleton->tree;
	struct dataset_child child;
	size_t len = place->len;
	int r = 0;

	for (uint64_t i = 2; r == 0 && tree_child(tree, folder, i, &child); i++) {
		if (child.kind != FORMAT_DIRECTORY && child.kind != FORMAT_SYMLINK)
			continue;
		r = enter(place, child.name, child.name_len);
		if (r == 0 && before)
			r = before(place, child.inode, &child);
		if (r == 0 && child.kind == FORMAT_DIRECTORY)
			r = visit(place, child.inode, before, after);
		if (r >= 0 && after)
			r = after(place, child.inode, &child);
		r = r > 0 ? 0 : r;
		place->len = len;
		place->path[len] = '\0';
	}
	return r;
}

/* --- what is there --------------------------------------------------------------------------- */

static bool belongs(const struct tree *tree, uint32_t folder, const char *name)
{
	enum format_kind kind;
	uint32_t entry;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return true;
	if (dataset_lookup(tree->dataset, folder, name, strlen(name), &entry) < 0)
		return false;
	kind = dataset_entry(tree->dataset, entry).kind;
	return kind == FORMAT_DIRECTORY || kind == FORMAT_SYMLINK;
}

static int refuse_content(const struct place *place, const char *name)
{
	return err_set(place->err, -ENOTEMPTY,
		       "not empty: '%s' in it would be hidden; use an empty folder", name);
}

/* Whether a real folder, if there is one, has only what the pack has there. */
static int check_folder(struct place *place, uint32_t folder)
{
	SCOPE_DIR DIR *dir = NULL;
	const struct dirent *found;
	int fd = openat(place->skeleton->folder, place->len ? place->path : ".",
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 1 : err_set(place->err, -errno, "%s", strerror(errno));
	dir = fdopendir(fd);
	if (!dir)
		return -ENOMEM;
	while ((found = readdir(dir)))
		if (!belongs(place->skeleton->tree, folder, found->d_name))
			return refuse_content(place, found->d_name);
	return 0;
}

static bool is_link_to(const struct place *place, const char *target, size_t len)
{
	char found[PATH_MAX];
	ssize_t n = readlinkat(place->skeleton->folder, place->path, found, sizeof(found));

	return n < 0 ? errno == ENOENT : (size_t)n == len && memcmp(found, target, len) == 0;
}

static int check_child(struct place *place, uint32_t entry, const struct dataset_child *child)
{
	const char *target;
	size_t len;

	if (child->kind == FORMAT_DIRECTORY)
		return check_folder(place, entry);
	target = dataset_target(place->skeleton->tree->dataset, entry, &len);
	return is_link_to(place, target, len) ? 0 : refuse_content(place, place->path);
}

/* --- making and removing --------------------------------------------------------------------- */

static void note_number(struct skeleton *skeleton, const struct stat *st)
{
	skeleton->numbers[st->st_ino % SKELETON_NUMBERS / 8] |=
		(unsigned char)(1 << st->st_ino % 8);
}

bool skeleton_may_have(const struct skeleton *skeleton, const struct stat *st)
{
	return st->st_dev == skeleton->device &&
	       skeleton->numbers[st->st_ino % SKELETON_NUMBERS / 8] >> st->st_ino % 8 & 1;
}

/* On overlayfs, a folder may have another number each time that it is looked up. */
static void note_all_numbers(struct skeleton *skeleton)
{
	struct statfs fs;

	if (fstatfs(skeleton->folder, &fs) < 0 || fs.f_type == OVERLAYFS_MAGIC)
		memset(skeleton->numbers, 0xff, sizeof(skeleton->numbers));
}

/* Whoever made it must be able to remove it. */
static int make_folder(struct place *place, uint32_t entry)
{
	struct stat st;
	int r = tree_stat(place->skeleton->tree, entry, &st);

	if (r < 0)
		return r;
	if ((mkdirat(place->skeleton->folder, place->path, 0700) < 0 && errno != EEXIST) ||
	    fchmodat(place->skeleton->folder, place->path, (st.st_mode & 0777) | 0700, 0) < 0 ||
	    fstatat(place->skeleton->folder, place->path, &st, 0) < 0)
		return -errno;
	note_number(place->skeleton, &st);
	return 0;
}

static int make_link(struct place *place, uint32_t entry)
{
	char target[PATH_MAX];
	size_t len;
	const char *packed = dataset_target(place->skeleton->tree->dataset, entry, &len);

	if (len >= sizeof(target))
		return -ENAMETOOLONG;
	memcpy(target, packed, len);
	target[len] = '\0';
	return symlinkat(target, place->skeleton->folder, place->path) < 0 && errno != EEXIST
		       ? -errno
		       : 0;
}

static int make_child(struct place *place, uint32_t entry, const struct dataset_child *child)
{
	int r = child->kind == FORMAT_DIRECTORY ? make_folder(place, entry)
						: make_link(place, entry);

	return r < 0 ? err_set(place->err, r, "cannot make '%s' in it, which foldfs needs: %s",
			       place->path, strerror(-r))
		     : 0;
}

static int remove_child(struct place *place, uint32_t entry, const struct dataset_child *child)
{
	(void)entry;
	(void)unlinkat(place->skeleton->folder, place->path,
		       child->kind == FORMAT_DIRECTORY ? AT_REMOVEDIR : 0);
	return 0;
}

/* --- all of it ------------------------------------------------------------------------------- */

static int open_own(struct skeleton *skeleton, const char *path, bool create, struct err *err)
{
	struct stat st;

	if (create && mkdir(path, 0777) == 0)
		skeleton->created = true;
	skeleton->path = realpath(path, NULL);
	if (!skeleton->path)
		return errno == ENOENT ? err_set(err, -ENOENT, "is missing; '--mkdir' creates it")
				       : err_set(err, -errno, "%s", strerror(errno));
	skeleton->folder = open(skeleton->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (skeleton->folder < 0 || fstat(skeleton->folder, &st) < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	skeleton->device = st.st_dev;
	skeleton->inode = st.st_ino;
	note_number(skeleton, &st);
	note_all_numbers(skeleton);
	(void)flock(skeleton->folder, LOCK_SH);
	return 0;
}

int skeleton_make(const struct tree *tree, const char *path, bool create, struct skeleton *ret,
		  struct err *err)
{
	struct place place = {.skeleton = ret, .err = err};
	int r;

	ret->tree = tree;
	r = open_own(ret, path, create, err);
	if (r == 0)
		r = check_folder(&place, tree->root);
	if (r == 0)
		r = visit(&place, tree->root, check_child, NULL);
	ret->made = r == 0;
	if (r == 0)
		r = visit(&place, tree->root, make_child, NULL);
	return r;
}

/* The lock is of all processes that this one has forked, which have ended. */
void skeleton_remove(struct skeleton *skeleton)
{
	struct place place = {.skeleton = skeleton};

	if (skeleton->folder < 0 || flock(skeleton->folder, LOCK_EX | LOCK_NB) < 0)
		return;
	if (skeleton->made)
		visit(&place, skeleton->tree->root, NULL, remove_child);
	if (skeleton->created)
		rmdir(skeleton->path);
}

void skeleton_release(struct skeleton *skeleton)
{
	scope_close(&skeleton->folder);
	free(skeleton->path);
	*skeleton = SKELETON_NONE;
}

int skeleton_open(const struct skeleton *skeleton, uint32_t entry, int flags)
{
	const struct tree *tree = skeleton->tree;
	SCOPE(buf_release) struct buf path = BUF_INIT, root = BUF_INIT;
	const char *rest;
	int fd, r = dataset_path(tree->dataset, entry, &path);

	if (r == 0)
		r = dataset_path(tree->dataset, tree->root, &root);
	if (r < 0)
		return r;
	rest = path.data + root.len;
	rest += *rest == '/';
	fd = openat(skeleton->folder, *rest ? rest : ".",
		    flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
