/* Which entry of a pack a path of a job names, if any. It goes name by name, as the kernel does: in
 * the pack by its index alone, elsewhere by looking, so that what is reached counts, and not how it
 * was written. It gets into the pack
 *
 *	by the folder that shows it, wherever that is now    by its inode
 *	from a descriptor or the working folder in it        by their links in /proc
 *	by /proc/self, /dev/fd and links to these            as the job's, which foldfs is not
 *
 * and out of it by ".." and links. An open file of the pack has no path of its own: it is a file in
 * memory, which bears the number of its entry in its name.
 *
 * The folder is the working folder of this process: the kernel then says at once where it is, and
 * by /proc/self/cwd no path is led astray. All calls are thread-safe. */
#pragma once

#include "fs/nofuse/skeleton.h"

#define RESOLVE_MARK 40 /* bytes of what links to the files in memory begin with */

struct resolver {
	const struct skeleton *skeleton;
	const struct tree *tree;
	char mark[RESOLVE_MARK]; /* no other run of foldfs has it */
};

struct resolved {
	/* Whether it is of the pack. If not, the kernel knows what the path means, but for an open
	 * file of the pack that is named by its link in /proc, which is not followed. */
	bool inside, by_link;
	bool crossed;	 /* the path leads through a folder of the pack, or begins in one */
	int error;	 /* inside: 0, or why there is no entry, -ENOENT, -ENOTDIR and so on */
	uint32_t entry;	 /* inside without error, or by_link */
	bool above;	 /* error: only the last name is wrong, in a folder of the pack */
	bool searched;	 /* inside: in a folder of the pack, which is: */
	uint32_t folder; /* that of the last name */
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

/* Whether a descriptor, or the working folder, is one of the pack, or above it. */
bool resolve_is_above(const struct resolver *resolver, pid_t pid, int fd);

/* The name of the file in memory of an entry. */
void resolver_name(const struct resolver *resolver, uint32_t entry, char ret[static 64]);
