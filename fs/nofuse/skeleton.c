#include "fs/nofuse/skeleton.h"
#include "base/scope.h"
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>

/* A folder or link that it has below its own folder. */
struct part {
	uint32_t entry;
	enum format_kind kind;
	const char *path; /* from there */
};

typedef int part_fn(struct skeleton *skeleton, const struct part *part, struct err *err);

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
	int r;

	if ((kind != FORMAT_DIRECTORY && kind != FORMAT_SYMLINK) ||
	    !is_below(skeleton->tree, entry))
		return 0;
	r = tree_path(skeleton->tree, entry, &path);
	return r < 0 ? r : function(skeleton, &(struct part){entry, kind, path.data}, err);
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

/* Whether a real folder, if there is one, has only what the pack has there. */
static int check_folder(struct skeleton *skeleton, const struct part *part, struct err *err)
{
	SCOPE_DIR DIR *dir = NULL;
	const struct dirent *found;
	int fd = openat(skeleton->folder, part->path,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0
				       : err_set(err, -errno, "cannot read '%s' in it: %s",
						 part->path, strerror(errno));
	dir = fdopendir(fd);
	if (!dir)
		return -ENOMEM;
	while ((found = readdir(dir)))
		if (!belongs(skeleton->tree, part->entry, found->d_name))
			return refuse_content(found->d_name, err);
	return 0;
}

static bool is_link_to(const struct skeleton *skeleton, const char *path, const char *target,
		       size_t len)
{
	char found[PATH_MAX];
	ssize_t n = readlinkat(skeleton->folder, path, found, sizeof(found));

	return n < 0 ? errno == ENOENT : (size_t)n == len && memcmp(found, target, len) == 0;
}

static int check_part(struct skeleton *skeleton, const struct part *part, struct err *err)
{
	const char *target;
	size_t len;

	if (part->kind == FORMAT_DIRECTORY)
		return check_folder(skeleton, part, err);
	target = dataset_target(skeleton->tree->dataset, part->entry, &len);
	return is_link_to(skeleton, part->path, target, len) ? 0 : refuse_content(part->path, err);
}

/* --- making and removing --------------------------------------------------------------------- */

/* Whoever made it must be able to remove it. */
static int make_folder(struct skeleton *skeleton, const struct part *part)
{
	struct stat st;
	int r = tree_stat(skeleton->tree, part->entry, &st);

	if (r < 0)
		return r;
	if ((mkdirat(skeleton->folder, part->path, 0700) < 0 && errno != EEXIST) ||
	    fchmodat(skeleton->folder, part->path, (st.st_mode & 0777) | 0700, 0) < 0)
		return -errno;
	return 0;
}

static int make_link(struct skeleton *skeleton, const struct part *part)
{
	SCOPE(buf_release) struct buf target = BUF_INIT;
	size_t len;
	const char *packed = dataset_target(skeleton->tree->dataset, part->entry, &len);

	if (buf_addf(&target, "%.*s", (int)len, packed) < 0)
		return -ENOMEM;
	return symlinkat(target.data, skeleton->folder, part->path) < 0 && errno != EEXIST ? -errno
											   : 0;
}

static int make_part(struct skeleton *skeleton, const struct part *part, struct err *err)
{
	int r = part->kind == FORMAT_DIRECTORY ? make_folder(skeleton, part)
					       : make_link(skeleton, part);

	return r < 0 ? err_set(err, r, "cannot make '%s' in it, which foldfs needs: %s", part->path,
			       strerror(-r))
		     : 0;
}

static int remove_part(struct skeleton *skeleton, const struct part *part, struct err *err)
{
	(void)err;
	(void)unlinkat(skeleton->folder, part->path,
		       part->kind == FORMAT_DIRECTORY ? AT_REMOVEDIR : 0);
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
	(void)flock(skeleton->folder, LOCK_SH);
	return 0;
}

int skeleton_make(const struct tree *tree, const char *path, bool create, struct skeleton *ret,
		  struct err *err)
{
	int r;

	ret->tree = tree;
	r = open_own(ret, path, create, err);
	if (r == 0)
		r = check_folder(ret, &(struct part){tree->root, FORMAT_DIRECTORY, "."}, err);
	if (r == 0)
		r = call_with_all(ret, check_part, err);
	ret->made = r == 0;
	return r < 0 ? r : call_with_all(ret, make_part, err);
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
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = tree_path(skeleton->tree, entry, &path);

	if (r < 0)
		return r;
	r = openat(skeleton->folder, path.len ? path.data : ".",
		   flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return r < 0 ? -errno : r;
}
