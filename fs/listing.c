/* The records are written here, not by fuse_add_direntry(): that wants each name NUL-ended and
 * a stat of each, and a listing of 1,281,167 names took a tenth longer with it. */
#include "fs/listing.h"
#include <dirent.h>
#include <linux/fuse.h>
#include <string.h>

size_t listing_add(char *buf, size_t room, uint64_t next, uint64_t ino,
		   const struct dataset_child *child)
{
	struct fuse_dirent record = {
		.ino = ino,
		.off = next,
		.namelen = (uint32_t)child->name_len,
		.type = IFTODT(tree_type(child->kind)),
	};
	size_t len = FUSE_NAME_OFFSET + child->name_len, whole = FUSE_DIRENT_ALIGN(len);

	if (whole > room)
		return 0;
	memcpy(buf, &record, FUSE_NAME_OFFSET);
	memcpy(buf + FUSE_NAME_OFFSET, child->name, child->name_len);
	memset(buf + len, 0, whole - len);
	return whole;
}

static void dot(const struct tree *tree, uint32_t directory, uint64_t place,
		struct dataset_child *ret)
{
	struct dataset_entry entry;

	dataset_entry(tree->dataset, directory, &entry);
	*ret = (struct dataset_child){
		.kind = FORMAT_DIRECTORY,
		.inode = place == 0 || directory == tree->root ? directory : entry.parent,
		.name = "..",
		.name_len = place + 1,
	};
}

bool listing_child(const struct tree *tree, uint32_t directory, uint64_t place,
		   struct dataset_child *ret)
{
	struct dataset_entry d;

	dataset_entry(tree->dataset, directory, &d);
	if (place >= (uint64_t)d.children + 2)
		return false;
	if (place < 2)
		dot(tree, directory, place, ret);
	else
		dataset_child(tree->dataset, d.first_child + (uint32_t)(place - 2), ret);
	return true;
}
