/* Which entry of a pack a path of a job names, if any. The folder stands on the disk as a skeleton
 * of folders and links (skeleton.h), so the kernel itself follows what leads there, however: by
 * relative paths, descriptors, "..", and links from anywhere. Only the last name is looked up in
 * the pack:
 *
 *	path -> the folder above, which the kernel finds -> below the skeleton?  -> its entry, name
 *	                                                 -> a link elsewhere?    -> again
 *	                                                 -> else the path is not of the pack
 *
 * An open file of the pack has no path of its own: it is a file in memory, which bears the number
 * of its entry in its name. All calls are thread-safe. */
#pragma once

#include "fs/nofuse/skeleton.h"
#include <limits.h>

#define RESOLVE_MARK 32 /* bytes of what the names of files in memory begin with */

struct resolver {
	const struct skeleton *skeleton;
	const struct tree *tree;
	const char *folder; /* of both: what they have for short */
	size_t folder_len;
	char mark[RESOLVE_MARK]; /* no other run of foldfs has it */
};

struct resolved {
	/* Whether it is of the pack. If not, the kernel knows what the path means, but for an open
	 * file of the pack that is named by its link in /proc, which is not followed. */
	bool inside, by_link;
	int error;	/* inside: 0, or why there is no entry, -ENOENT, -ENOTDIR and so on */
	uint32_t entry; /* inside without error, or by_link; `above`: that folder */
	bool above;	/* error: only the last name is wrong, in a folder of the pack */
	enum { RESOLVED_NAME, RESOLVED_DOT, RESOLVED_DOTS } last; /* a name, ".", or ".." */
	bool slash;						  /* the path ends with one */
};

/* Makes a mark. The skeleton is borrowed. */
void resolver_init(struct resolver *resolver, const struct skeleton *skeleton);

/* Whether the link that a path ends with is followed: not where the name itself is meant, to be
 * made or removed; where a slash is behind it; or always. */
enum follow { FOLLOW_NEVER, FOLLOW_SLASH, FOLLOW_ALWAYS };

/* What a path names for a thread of a job, from a descriptor or AT_FDCWD on. */
struct resolved resolve(const struct resolver *resolver, pid_t pid, int fd, const char *path,
			enum follow follow);
/* What a descriptor, or the working folder, is. */
struct resolved resolve_open(const struct resolver *resolver, pid_t pid, int fd);

/* The name of the file in memory of an entry. */
void resolver_name(const struct resolver *resolver, uint32_t entry, char ret[static 64]);
