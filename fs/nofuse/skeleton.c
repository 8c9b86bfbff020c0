#include "fs/nofuse/skeleton.h"
#include "base/fstype.h"
#include "base/io.h"
#include "base/scope.h"
#include "base/search.h"
#include "fs/life/place.h"
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>

/* A folder or link that it has below its own folder. */
struct part {
	uint32_t entry;
	enum format_kind kind;
	const char *path; /* from there */
	int above;	  /* the folder that it is in; or -errno: cannot be reached */
	const char *name; /* in that */
};

/* A folder of it, as the filesystem knows it. */
struct known {
	uint64_t inode;
	int64_t made;
	uint32_t entry;
};

typedef int part_fn(struct skeleton *skeleton, const struct part *part, struct err *err);

/* Opens the folder that a path, from its own folder on, ends in, and finds the last name. Returns a
 * descriptor or -errno. */
static int open_above(const struct skeleton *skeleton, const char *path, const char **ret_name)
{
	int at = place_open(skeleton->folder, ".", O_PATH);
	const char *slash;

	for (; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		SCOPE_CLOSE int before = at;
		char name[NAME_MAX + 1];

		snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path);
		at = place_open(before, name, O_PATH);
	}
	*ret_name = path;
	return at;
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
	int fd = place_open(part->above, part->name, O_RDONLY);
	SCOPE_DIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *found;

	if (fd < 0)
		return fd == -ENOENT ? 0 : refuse_unreadable(part, fd, err);
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

static int note_folder(struct skeleton *skeleton, int fd, uint32_t entry)
{
	struct statx_file file;
	int r = statx_file(fd, "", &file);

	return r < 0 ? r
		     : buf_add(&skeleton->known, &(struct known){file.inode, file.made, entry},
			       sizeof(struct known));
}

/* Of another user, it would be his to change. Some filesystems give all that is theirs to one. */
static bool is_own(const struct skeleton *skeleton, int fd)
{
	struct stat top, st;

	return fstat(fd, &st) == 0 &&
	       (st.st_uid == geteuid() ||
		(fstat(skeleton->folder, &top) == 0 && st.st_uid == top.st_uid));
}

/* Whoever made it must be able to remove it, and nobody else may write to it. Where modes cannot be
 * set, they stay: the job is shown those of the pack. */
static int make_folder(struct skeleton *skeleton, const struct part *part)
{
	SCOPE_CLOSE int fd = -1;
	struct stat st;
	bool made;
	int r = tree_stat(skeleton->tree, part->entry, &st);

	if (r < 0)
		return r;
	made = mkdirat(part->above, part->name, 0700) == 0;
	if (!made && errno != EEXIST)
		return -errno;
	fd = place_open(part->above, part->name, O_RDONLY);
	if (fd < 0)
		return fd;
	if (!made && !is_own(skeleton, fd))
		return -EPERM;
	(void)io_set_mode(fd, (st.st_mode & 0755) | 0700);
	return note_folder(skeleton, fd, part->entry);
}

static int make_link(const struct skeleton *skeleton, const struct part *part)
{
	SCOPE(buf_release) struct buf target = BUF_INIT;
	size_t len;
	const char *packed = dataset_target(skeleton->tree->dataset, part->entry, &len);

	if (buf_addf(&target, "%.*s", (int)len, packed) < 0)
		return -ENOMEM;
	if (symlinkat(target.data, part->above, part->name) == 0)
		return 0;
	return errno == EEXIST ? check_link(skeleton, part) : -errno;
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
	SCOPE_CLOSE int above = -1;
	struct statx_file made;
	struct stat st;
	int r = place_find(path, &skeleton->path, &above);

	if (r == 0 && create)
		r = place_create(above, place_name(skeleton->path), &skeleton->created, &made);
	if (r == 0)
		r = place_open(above, place_name(skeleton->path), O_RDONLY);
	if (r == -ENOENT && !create)
		return err_set(err, r, "is missing; '--mkdir' creates it");
	if (r < 0)
		return err_set(err, r, "%s", strerror(-r));
	skeleton->folder = r;
	if (fstat(skeleton->folder, &st) < 0 ||
	    statx_file(skeleton->folder, "", &skeleton->own) < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	skeleton->created = skeleton->created && statx_is_same(&skeleton->own, &made);
	(void)flock(skeleton->folder, LOCK_SH);
	return check_owner(&st, err);
}

/* Some filesystems take two names for one, as those do that do not tell 'a' from 'A'. */
static int check_alone(const struct skeleton *skeleton, struct err *err)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	const struct known *known = (const void *)skeleton->known.data;
	size_t count = skeleton->known.len / sizeof(*known), i = 1;

	while (i < count && known[i].inode != known[i - 1].inode)
		i++;
	if (i >= count)
		return 0;
	if (tree_path(skeleton->tree, known[i].entry, &path) < 0)
		return -ENOMEM;
	return err_set(err, -EEXIST,
		       "'%s' in it and another folder are one there: its filesystem does not tell "
		       "their names apart; use a folder on another filesystem",
		       path.data);
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
	if (r < 0)
		return r;
	buf_sort(&ret->known, sizeof(struct known), search_compare64);
	return check_alone(ret, err);
}

/* The folder itself, if it still has its name. */
static void remove_own(const struct skeleton *skeleton)
{
	SCOPE_CLOSE int above = place_open(skeleton->folder, "..", O_PATH);

	if (above >= 0)
		(void)place_remove(above, place_name(skeleton->path), &skeleton->own);
}

static bool is_shared(const struct skeleton *skeleton)
{
	struct statfs fs;

	return fstatfs(skeleton->folder, &fs) < 0 || fstype_is_remote(&fs);
}

/* The lock is of all processes that this one has forked, which have ended. */
void skeleton_remove(struct skeleton *skeleton)
{
	if (skeleton->folder < 0 || is_shared(skeleton) ||
	    flock(skeleton->folder, LOCK_EX | LOCK_NB) < 0)
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
	buf_release(&skeleton->known);
	*skeleton = SKELETON_NONE;
}

static int open_folder(const struct skeleton *skeleton, uint32_t entry)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	SCOPE_CLOSE int above = -1;
	const char *name = "";
	int r = tree_path(skeleton->tree, entry, &path);

	if (r == 0)
		r = above = open_above(skeleton, path.data, &name);
	if (r < 0 || !*name)
		return r < 0 ? r : steal_fd(&above);
	return place_open(above, name, O_PATH);
}

/* The job sees the flags as it gave them. */
int skeleton_open(const struct skeleton *skeleton, uint32_t entry, int flags)
{
	SCOPE_CLOSE int folder = open_folder(skeleton, entry);
	int fd = folder < 0 ? folder : openat(folder, ".", flags | O_CLOEXEC);

	return fd < 0 && folder >= 0 ? -errno : fd;
}

/* Once a folder is gone, another one soon gets its number. Where nothing says when it was made, it
 * is looked for. */
int skeleton_find(const struct skeleton *skeleton, const struct statx_file *folder, uint32_t *ret)
{
	SCOPE_CLOSE int fd = -1;
	const struct known *known;
	struct statx_file now;

	if (folder->device != skeleton->own.device || folder->type != S_IFDIR)
		return -ENOENT;
	if (folder->inode == skeleton->own.inode) {
		*ret = skeleton->tree->root;
		return 0;
	}
	known = buf_find(&skeleton->known, &folder->inode, sizeof(*known), search_compare64);
	if (!known || (known->made && folder->made && known->made != folder->made))
		return -ENOENT;
	if (!known->made || !folder->made) {
		fd = open_folder(skeleton, known->entry);
		if (fd < 0)
			return fd;
		if (statx_file(fd, "", &now) < 0 || !statx_is_same(&now, folder))
			return -ENOENT;
	}
	*ret = known->entry;
	return 0;
}
