/* The folders and links of a pack, made in a real folder, without the files: what the kernel finds
 * its way by. Processes outside of the job see empty folders, never wrong bytes.
 *
 * All of it is reached from that folder, which is open, and by no link: whoever may write to it can
 * put some there. Where that is somebody else, root makes none.
 *
 * Several jobs may show the same pack in one folder: the last that ends removes what was made. On a
 * filesystem of other machines, whose jobs nobody here knows of, it stays. One that was killed
 * leaves folders, which the next one takes over. */
#pragma once

#include "base/err.h"
#include "base/statx.h"
#include "fs/tree.h"

struct skeleton {
	const struct tree *tree; /* borrowed */
	char *path;		 /* absolute, without links */
	int folder;		 /* open, and locked for others to see that it is in use; -1 */
	struct statx_file own;	 /* what that is */
	bool created;		 /* the folder itself, here */
	bool made;		 /* what is in it may be removed */
	struct buf known;	 /* the folders in it, by the numbers of their inodes */
};

#define SKELETON_NONE ((struct skeleton){.folder = -1})

/* Makes it, in `path`, which must hold nothing but a skeleton of the same pack; `create`: which may
 * be missing. *ret is SKELETON_NONE before, and to be released whatever is returned. 0 or -errno
 * with the way out; -EPERM also where it would be root's, and others may write to it. */
int skeleton_make(const struct tree *tree, const char *path, bool create, struct skeleton *ret,
		  struct err *err);
/* Removes what was made, unless another job uses it. */
void skeleton_remove(struct skeleton *skeleton);
void skeleton_release(struct skeleton *skeleton);

/* Opens a folder of it. Returns a descriptor or -errno. */
int skeleton_open(const struct skeleton *skeleton, uint32_t entry, int flags);

/* Which entry a real folder is, by whatever path it was reached. 0; -ENOENT: it is none that was
 * made, or its filesystem has given it another number since; or -errno. */
int skeleton_find(const struct skeleton *skeleton, const struct statx_file *folder, uint32_t *ret);
