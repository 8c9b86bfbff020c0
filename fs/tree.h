/* The part of a pack that a mount shows, as the kernel sees it: inode numbers, attributes and
 * paths.
 *
 * Inode numbers are entry numbers + 1; the root of the mount is 1. They never change and are never
 * reused, so that forgetting an inode costs nothing. Plain data; all calls are thread-safe. */
#pragma once

#include "pack/dataset.h"
#include <sys/stat.h>

#define TREE_ROOT_INO 1

struct tree {
	struct dataset *dataset; /* borrowed */
	uint32_t root;		 /* the entry that is the mount's root */
	uid_t uid;		 /* of all files */
	gid_t gid;
	uint64_t umask; /* UINT64_MAX: the modes in the pack */
};

/* What stat(2) says of an entry. Returns 0 or -errno. */
int tree_stat(const struct tree *tree, uint32_t entry, struct stat *ret);

/* Finds a path below the mount's root; "./", leading and doubled slashes do not count. Returns 0,
 * -ENOENT or -ENOTDIR. */
int tree_find(const struct tree *tree, const char *path, size_t len, uint32_t *ret);

/* Appends the path of an entry below the mount's root, "" of that itself, with a NUL that buf->len
 * does not count. Returns 0 or -ENOMEM. */
int tree_path(const struct tree *tree, uint32_t entry, struct buf *path);

/* Who asks. */
struct tree_user {
	pid_t pid;
	bool known; /* uid and gid are; otherwise they are looked up when they are needed */
	uid_t uid;
	gid_t gid;
};

/* Whether a user has `access` (R_OK, X_OK) to an entry, and may search the folders above it: the
 * check that the kernel makes with default_permissions, but that a file with several names is
 * looked for by the first one. Returns 0 or -errno. */
int tree_access(const struct tree *tree, uint32_t entry, int access, struct tree_user *user);

/* Places of a listing: 0 is ".", 1 is "..", then come the children. False after the last one. */
bool tree_child(const struct tree *tree, uint32_t folder, uint64_t place,
		struct dataset_child *ret);

/* The entry of an inode number, and the inode number of an entry that stands for an inode. */
static inline uint32_t tree_entry(const struct tree *tree, uint64_t ino)
{
	return ino == TREE_ROOT_INO ? tree->root : (uint32_t)(ino - 1);
}

static inline uint64_t tree_ino(const struct tree *tree, uint32_t inode)
{
	return inode == tree->root ? TREE_ROOT_INO : (uint64_t)inode + 1;
}

/* The file type of an entry, as in st_mode. */
static inline mode_t tree_type(enum format_kind kind)
{
	switch (kind) {
	case FORMAT_DIRECTORY:
		return S_IFDIR;
	case FORMAT_SYMLINK:
		return S_IFLNK;
	default:
		return S_IFREG;
	}
}
