#include "fs/tree.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES 131072 /* Python before 3.14 reads blocks of this: most photos in one READ */
#define GROUPS_MAX  256	   /* of a process that are looked at */

static mode_t mode_of(const struct tree *tree, mode_t type, mode_t packed)
{
	mode_t readable = type == S_IFDIR ? 0500 : 0400, all = type == S_IFDIR ? 0777 : 0666;

	if (type == S_IFLNK)
		return type | 0777;
	if (tree->umask == UINT64_MAX)
		return type | packed | readable;
	return type | (all & ~(mode_t)tree->umask);
}

int tree_stat(const struct tree *tree, uint32_t entry, struct stat *ret)
{
	const struct dataset_entry e = dataset_entry(tree->dataset, entry);
	struct dataset_attr attr;
	int r = dataset_attr(tree->dataset, entry, &attr);

	if (r < 0)
		return r;
	*ret = (struct stat){
		.st_ino = tree_ino(tree, e.inode),
		.st_mode = mode_of(tree, tree_type(e.kind), attr.mode),
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

/* --- permissions ----------------------------------------------------------------------------- */

/* Returns 1, 0, or -errno if that cannot be known, as where /proc hides processes. */
static int in_group(gid_t gid, fuse_req_t req)
{
	gid_t groups[GROUPS_MAX];
	int count;

	if (fuse_req_ctx(req)->gid == gid)
		return 1;
	count = fuse_req_getgroups(req, GROUPS_MAX, groups);
	for (int i = 0; i < count && i < GROUPS_MAX; i++)
		if (groups[i] == gid)
			return 1;
	return count > GROUPS_MAX ? -ERANGE : count < 0 ? count : 0;
}

/* What the group may, what all others may, or if it is not known which of them it is, both. */
static mode_t mode_for(const struct stat *st, fuse_req_t req)
{
	mode_t all = st->st_mode, group = all >> 3;
	int member;

	if (fuse_req_ctx(req)->uid == st->st_uid)
		return all >> 6;
	if (((group ^ all) & 07) == 0)
		return all;
	member = in_group(st->st_gid, req);
	if (member < 0)
		return group & all;
	return member ? group : all;
}

/* A file's first name may be outside of what the mount shows. */
int tree_access(const struct tree *tree, uint32_t entry, int access, fuse_req_t req)
{
	int r = 0;

	if (fuse_req_ctx(req)->uid == 0)
		return 0;
	for (;;) {
		struct stat st;

		r = tree_stat(tree, entry, &st);
		if (r == 0 && (mode_for(&st, req) & (mode_t)access) != (mode_t)access)
			r = -EACCES;
		if (r < 0 || entry == tree->root || entry == DATASET_ROOT)
			return r;
		entry = dataset_entry(tree->dataset, entry).parent;
		access = X_OK;
	}
}
