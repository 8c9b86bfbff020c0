#include "fs/nofuse/skeleton.h"
#include "base/scope.h"
#include "fs/nofuse/job.h"
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>

#define FOLDER (O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* A folder or link that it has below its own folder. */
struct part {
	uint32_t entry;
	enum format_kind kind;
	const char *path; /* from there */
	int above;	  /* the folder that it is in; or -errno: cannot be reached */
	const char *name; /* in that */
};

/* A folder of it, as the filesystem knows it. */
struct inode {
	ino_t number;
	uint32_t entry;
};

typedef int part_fn(struct skeleton *skeleton, const struct part *part, struct err *err);

/* Opens the folder that a path, from its own folder on, ends in, and finds the last name. Returns a
 * descriptor or -errno. */
static int open_above(const struct skeleton *skeleton, const char *path, const char **ret_name)
{
	SCOPE_CLOSE int at = openat(skeleton->folder, ".", O_PATH | FOLDER);
	const char *slash;

	for (; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		char name[NAME_MAX + 1];
		int next;

		snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path);
		next = openat(at, name, O_PATH | FOLDER);
		close(at);
		at = next;
	}
	*ret_name = path;
	return at < 0 ? -errno : steal_fd(&at);
}

static bool is_below(const struct tree *tree, uint32_t entry)
{
	while (entry > tree->root)
		entry = dataset_entry(tree->dataset, entry).parent;
	return entry == tree->root;
}

/* Calls a function with an entry, if that is a part. */
static int call_with(struct skeleton *skeleton, uint32_t entry, part_fn *function, struct err *err)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	enum format_kind kind = dataset_child(skeleton->tree->dataset, entry).kind;
	SCOPE_CLOSE int above = -1;
	struct part part;
	int r;

	if ((kind != FORMAT_DIRECTORY && kind != FORMAT_SYMLINK) ||
	    !is_below(skeleton->tree, entry))
		return 0;
	r = tree_path(skeleton->tree, entry, &path);
	if (r < 0)
		return r;
	part = (struct part){entry, kind, path.data, .name = ""};
	above = part.above = open_above(skeleton, path.data, &part.name);
	return function(skeleton, &part, err);
}

/* With all parts, folders before what is in them: so their numbers rise. 0 or -errno. */
static int call_with_all(struct skeleton *skeleton, part_fn *function, struct err *err)
{
	uint32_t count = dataset_entries(skeleton->tree->dataset);
	int r = 0;

	for (uint32_t entry = skeleton->tree->root + 1; r == 0 && entry < count; entry++)
		r = call_with(skeleton, entry, function, err);
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

static int refuse_content(const char *name, struct err *err)
{
	return err_set(err, -ENOTEMPTY,
		       "not empty: '%s' in it would be hidden; use an empty folder", name);
}

static int refuse_unreadable(const struct part *part, int error, struct err *err)
{
	return err_set(err, error, "cannot read '%s' in it: %s", part->path, strerror(-error));
}

/* Whether a real folder, if there is one, has only what the pack has there. */
static int check_folder(struct skeleton *skeleton, const struct part *part, struct err *err)
{
	int fd = openat(part->above, part->name, O_RDONLY | FOLDER);
	SCOPE_DIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *found;

	if (fd < 0)
		return errno == ENOENT ? 0 : refuse_unreadable(part, -errno, err);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while ((found = readdir(dir)))
		if (!belongs(skeleton->tree, part->entry, found->d_name))
			return refuse_content(found->d_name, err);
	return 0;
}

/* 0, or -errno: there is something else, or nothing. */
static int check_link(const struct skeleton *skeleton, const struct part *part)
{
	char found[PATH_MAX];
	ssize_t n = readlinkat(part->above, part->name, found, sizeof(found));
	size_t len;
	const char *target = dataset_target(skeleton->tree->dataset, part->entry, &len);

	if (n < 0)
		return -errno;
	return (size_t)n == len && memcmp(found, target, len) == 0 ? 0 : -EEXIST;
}

static int check_part(struct skeleton *skeleton, const struct part *part, struct err *err)
{
	int r;

	if (part->above < 0)
		return part->above == -ENOENT ? 0 : refuse_unreadable(part, part->above, err);
	if (part->kind == FORMAT_DIRECTORY)
		return check_folder(skeleton, part, err);
	r = check_link(skeleton, part);
	return r == 0 || r == -ENOENT ? 0 : refuse_content(part->path, err);
}

/* --- making and removing --------------------------------------------------------------------- */

/* Whoever made it must be able to remove it. */
static int make_folder(struct skeleton *skeleton, const struct part *part)
{
	SCOPE_CLOSE int fd = -1;
	struct stat st, found;
	mode_t mode;
	int r = tree_stat(skeleton->tree, part->entry, &st);

	if (r < 0)
		return r;
	mode = (st.st_mode & 0777) | 0700;
	if (mkdirat(part->above, part->name, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(part->above, part->name, O_RDONLY | FOLDER);
	if (fd < 0 || fstat(fd, &found) < 0 ||
	    ((found.st_mode & 0777) != mode && fchmod(fd, mode) < 0))
		return -errno;
	return buf_add(&skeleton->inodes, &(struct inode){found.st_ino, part->entry},
		       sizeof(struct inode));
}

static int make_link(struct skeleton *skeleton, const struct part *part)
{
	SCOPE(buf_release) struct buf target = BUF_INIT;
	size_t len;
	const char *packed = dataset_target(skeleton->tree->dataset, part->entry, &len);

	if (buf_addf(&target, "%.*s", (int)len, packed) < 0)
		return -ENOMEM;
	return symlinkat(target.data, part->above, part->name) < 0 && errno != EEXIST ? -errno : 0;
}

static int make_part(struct skeleton *skeleton, const struct part *part, struct err *err)
{
	int r = part->above;

	if (r >= 0)
		r = part->kind == FORMAT_DIRECTORY ? make_folder(skeleton, part)
						   : make_link(skeleton, part);
	return r < 0 ? err_set(err, r, "cannot make '%s' in it, which foldfs needs: %s", part->path,
			       strerror(-r))
		     : 0;
}

static int remove_part(struct skeleton *skeleton, const struct part *part, struct err *err)
{
	(void)err;
	if (part->kind == FORMAT_DIRECTORY)
		(void)unlinkat(part->above, part->name, AT_REMOVEDIR);
	else if (check_link(skeleton, part) == 0)
		(void)unlinkat(part->above, part->name, 0);
	return 0;
}

/* --- all of it ------------------------------------------------------------------------------- */

/* A folder of root's own: no other user decides what there is below it. */
static int check_owner(const struct stat *st, struct err *err)
{
	if (geteuid() != 0 || (st->st_uid == 0 && !(st->st_mode & (S_IWGRP | S_IWOTH))))
		return 0;
	return err_set(err, -EPERM,
		       "others may write to it, and root makes folders in it: use one that only "
		       "root may write to, as '--mkdir' makes");
}

static int open_own(struct skeleton *skeleton, const char *path, bool create, struct err *err)
{
	char found[PATH_MAX];
	struct stat st;
	int r;

	if (create && mkdir(path, 0755) == 0)
		skeleton->created = true;
	skeleton->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = skeleton->folder < 0 || fstat(skeleton->folder, &st) < 0
		    ? -errno
		    : job_link(getpid(), skeleton->folder, found);
	if (r == -ENOENT)
		return err_set(err, r, "is missing; '--mkdir' creates it");
	if (r < 0)
		return err_set(err, r, "%s", strerror(-r));
	skeleton->path = strdup(found);
	skeleton->device = st.st_dev;
	skeleton->inode = st.st_ino;
	(void)flock(skeleton->folder, LOCK_SH);
	return skeleton->path ? check_owner(&st, err) : -ENOMEM;
}

static int compare_inodes(const void *a, const void *b)
{
	const struct inode *one = a, *other = b;

	return (one->number > other->number) - (one->number < other->number);
}

int skeleton_make(const struct tree *tree, const char *path, bool create, struct skeleton *ret,
		  struct err *err)
{
	int r;

	ret->tree = tree;
	r = open_own(ret, path, create, err);
	if (r == 0)
		r = check_folder(
			ret, &(struct part){tree->root, FORMAT_DIRECTORY, ".", ret->folder, "."},
			err);
	if (r == 0)
		r = call_with_all(ret, check_part, err);
	ret->made = r == 0;
	if (r == 0)
		r = call_with_all(ret, make_part, err);
	if (r == 0)
		buf_sort(&ret->inodes, sizeof(struct inode), compare_inodes);
	return r;
}

/* The folder itself, if it still has its name. */
static void remove_own(const struct skeleton *skeleton)
{
	SCOPE_CLOSE int above = openat(skeleton->folder, "..", O_PATH | FOLDER);
	const char *name = strrchr(skeleton->path, '/') + 1;
	struct stat st;

	if (above >= 0 && fstatat(above, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_dev == skeleton->device && st.st_ino == skeleton->inode)
		unlinkat(above, name, AT_REMOVEDIR);
}

/* The lock is of all processes that this one has forked, which have ended. */
void skeleton_remove(struct skeleton *skeleton)
{
	if (skeleton->folder < 0 || flock(skeleton->folder, LOCK_EX | LOCK_NB) < 0)
		return;
	if (skeleton->made)
		for (uint32_t entry = dataset_entries(skeleton->tree->dataset);
		     --entry > skeleton->tree->root;)
			call_with(skeleton, entry, remove_part, NULL);
	if (skeleton->created)
		remove_own(skeleton);
}

void skeleton_release(struct skeleton *skeleton)
{
	scope_close(&skeleton->folder);
	free(skeleton->path);
	buf_release(&skeleton->inodes);
	*skeleton = SKELETON_NONE;
}

int skeleton_open(const struct skeleton *skeleton, uint32_t entry, int flags)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	SCOPE_CLOSE int above = -1;
	const char *name;
	int r = tree_path(skeleton->tree, entry, &path);

	if (r == 0)
		r = above = open_above(skeleton, path.data, &name);
	if (r < 0)
		return r;
	r = openat(above, *name ? name : ".", flags | FOLDER);
	return r < 0 ? -errno : r;
}

bool skeleton_has(const struct skeleton *skeleton, const struct stat *st, uint32_t *ret)
{
	const struct inode *found, wanted = {.number = st->st_ino};

	if (st->st_dev != skeleton->device)
		return false;
	if (st->st_ino == skeleton->inode) {
		*ret = skeleton->tree->root;
		return true;
	}
	found = buf_find(&skeleton->inodes, &wanted, sizeof(wanted), compare_inodes);
	if (found)
		*ret = found->entry;
	return found;
}
