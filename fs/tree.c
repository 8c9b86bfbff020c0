#include "fs/tree.h"
#include "base/scope.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES 131072 /* Python before 3.14 reads blocks of this: most photos in one READ */
#define GROUPS_LINE 4096   /* bytes of the list of a process's groups that are looked at */

int tree_stat(const struct tree *tree, uint32_t entry, struct stat *ret)
{
	const struct dataset_entry e = dataset_entry(tree->dataset, entry);
	mode_t mode, type = tree_type(e.kind);
	bool folder = type == S_IFDIR;
	struct dataset_attr attr;
	int r = dataset_attr(tree->dataset, entry, &attr);

	if (r < 0)
		return r;
	if (type == S_IFLNK)
		mode = 0777;
	else if (tree->umask == UINT64_MAX)
		mode = attr.mode | (folder ? 0500 : 0400);
	else
		mode = (folder ? 0777 : 0666) & ~(mode_t)tree->umask;
	*ret = (struct stat){
		.st_ino = tree_ino(tree, e.inode),
		.st_mode = type | mode,
		.st_nlink = attr.nlink,
		.st_uid = tree->uid,
		.st_gid = tree->gid,
		.st_size = (off_t)e.size,
		.st_blocks = (blkcnt_t)((e.size + 511) / 512),
		.st_blksize = BLOCK_BYTES,
		.st_atim = attr.mtime,
		.st_mtim = attr.mtime,
		.st_ctim = attr.mtime,
	};
	return 0;
}

int tree_find(const struct tree *tree, const char *path, size_t len, uint32_t *ret)
{
	const char *end = path + len;
	uint32_t entry = tree->root;

	while (path < end) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		size_t name = (size_t)((slash ? slash : end) - path);
		int r = 0;

		if (name > 0 && !(name == 1 && *path == '.'))
			r = dataset_lookup(tree->dataset, entry, path, name, &entry);
		if (r < 0)
			return r;
		path += name + (slash != NULL);
	}
	*ret = entry;
	return 0;
}

int tree_path(const struct tree *tree, uint32_t entry, struct buf *path)
{
	SCOPE(buf_release) struct buf root = BUF_INIT, whole = BUF_INIT;
	int r = dataset_path(tree->dataset, tree->root, &root);

	if (r == 0)
		r = dataset_path(tree->dataset, entry, &whole);
	return r < 0 ? r : buf_adds(path, whole.data + root.len + (whole.data[root.len] == '/'));
}

bool tree_child(const struct tree *tree, uint32_t folder, uint64_t place, struct dataset_child *ret)
{
	const struct dataset_entry d = dataset_entry(tree->dataset, folder);

	if (place >= (uint64_t)d.children + 2)
		return false;
	if (place < 2)
		*ret = (struct dataset_child){
			.kind = FORMAT_DIRECTORY,
			.inode = place == 0 || folder == tree->root ? folder : d.parent,
			.name = "..",
			.name_len = place + 1,
		};
	else
		*ret = dataset_child(tree->dataset, d.first_child + (uint32_t)(place - 2));
	return true;
}

/* --- permissions ----------------------------------------------------------------------------- */

/* Finds the rest of a line of /proc/PID/status. NULL with errno: there is none, as where /proc
 * hides processes. */
static char *read_status(pid_t pid, const char *name, char *line, size_t room)
{
	SCOPE_FILE FILE *file = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, (int)room, file))
		if (strncmp(line, name, strlen(name)) == 0)
			return line + strlen(name);
	if (file)
		errno = ENODATA;
	return NULL;
}

/* Returns 1, 0, or -errno if that cannot be known. */
static int in_group(gid_t gid, const struct tree_user *user)
{
	char line[GROUPS_LINE], *rest, *end;

	if (user->gid == gid)
		return 1;
	rest = read_status(user->pid, "Groups:", line, sizeof(line));
	if (!rest || !strchr(rest, '\n'))
		return rest ? -ENODATA : -errno;
	for (;; rest = end) {
		unsigned long group = strtoul(rest, &end, 10);

		if (end == rest)
			return 0;
		if (group == gid)
			return 1;
	}
}
/* Whether an error says that this process is short of something, and nothing of who asks. */
static bool is_short(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM;
}

/* What the group may, what all others may, or if it is not known which of them it is, both. Returns
 * bits of a mode, or -errno. */
static int mode_for(const struct stat *st, const struct tree_user *user)
{
	int all = (int)st->st_mode, group = all >> 3, member;

	if (user->uid == st->st_uid)
		return all >> 6;
	if (((group ^ all) & 07) == 0)
		return all;
	member = in_group(st->st_gid, user);
	if (member < 0)
		return is_short(member) ? member : group & all;
	return member ? group : all;
}

/* Who asks counts only where not all have the same rights. Root may all but execute what nobody
 * may. Returns 0, -EACCES, or -errno. */
static int check_mode(const struct stat *st, int access, struct tree_user *user)
{
	const char *uid, *gid = NULL;
	char line[GROUPS_LINE];
	int mode = (int)st->st_mode, all = mode & mode >> 3 & mode >> 6, r;

	if ((all & access) == access)
		return 0;
	if (!user->known) {
		/* The fourth number is the one that counts for files. */
		uid = read_status(user->pid, "Uid:", line, sizeof(line));
		if (uid && sscanf(uid, "%*u %*u %*u %u", &user->uid) == 1)
			gid = read_status(user->pid, "Gid:", line, sizeof(line));
		user->known = gid && sscanf(gid, "%*u %*u %*u %u", &user->gid) == 1;
		if (!user->known)
			return is_short(-errno) ? -errno : -EACCES;
	}
	if (user->uid == 0)
		return !(access & X_OK) || S_ISDIR(st->st_mode) || mode & 0111 ? 0 : -EACCES;
	r = mode_for(st, user);
	return r < 0 ? r : (r & access) == access ? 0 : -EACCES;
}

/* A file's first name may be outside of what the mount shows. */
int tree_access(const struct tree *tree, uint32_t entry, int access, struct tree_user *user)
{
	for (;;) {
		struct stat st;
		int r = tree_stat(tree, entry, &st);

		if (r == 0)
			r = check_mode(&st, access, user);
		if (r < 0 || entry == tree->root || entry == DATASET_ROOT)
			return r;
		entry = dataset_entry(tree->dataset, entry).parent;
		access = X_OK;
	}
}
