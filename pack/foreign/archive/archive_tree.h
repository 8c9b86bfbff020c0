/* What an archive leaves where it is unpacked: the members of a tar or zip become a tree, one after
 * the other, as tar -x makes it.
 *
 * - Paths lose their leading slashes. One that has '..' is left out; of a zip, '..' is passed over,
 * as unzip does.
 * - The last member of a path counts. A folder in which something lies gives way to no file, and
 *   two folders of a path are one, with the mode and time of the last.
 * - Folders without a member of their own are made, with the time of what lies in them.
 * - A member below a symbolic link goes where the link leads, if that is a folder of the archive,
 *   and its target has neither '..' nor a leading slash; otherwise it is left out.
 * - Of a file with a label, the folder of its class is in that of its path. For other members it is
 *   where its path says; only symbolic links to it lead to nothing, and are noted.
 * - A hard link is another name of a file that came before. Of a link it is one with its target.
 *
 * What is left out is told to foreign_settings.watch, or else counted, and noted with an example.
 *
 * Not thread-safe. */
#pragma once

#include "base/buf.h"
#include "pack/foreign/path_table.h"
#include "pack/foreign/settings.h"
#include "pack/foreign/tree.h"

enum archive_kind {
	ARCHIVE_FILE,
	ARCHIVE_FOLDER,
	ARCHIVE_SYMLINK,
	ARCHIVE_HARDLINK,
	/* No tree can hold them: */
	ARCHIVE_DEVICE,
	ARCHIVE_PIPE,
	ARCHIVE_SOCKET,
	ARCHIVE_PART,
	ARCHIVE_KINDS,
};

struct archive_member {
	uint64_t number; /* in the archive, from 0 on */
	enum archive_kind kind;
	struct foreign_text path, target; /* as the archive has them */
	int64_t label;			  /* of a file, */
	bool labelled;			  /* if it has one, */
	struct foreign_text class;	  /* and its class; none: the label is its name */
	mode_t mode;			  /* permission bits, with a type; 0: not known */
	int64_t mtime;			  /* nanoseconds */
	uint64_t offset, size;		  /* of its bytes, which lie in the archive */
	uint64_t holes;			  /* bytes of its size that the archive leaves out; then */
	const struct foreign_piece *pieces; /* those that it has */
	size_t piece_count;
	struct foreign_text bad; /* why it cannot be taken, as who wrote the archive knew */
	bool unpacked;		 /* its bytes are in foreign_tree_unpacked() */
	bool implied;		 /* a folder: one that is there stays as it is */
};

/* Holes take no space in an archive, but all of them would be stored in a pack. */
#define ARCHIVE_HOLES (16 * GIB)

#define ARCHIVE_REASONS 23

/* Of members that have one thing in common. */
struct archive_count {
	uint64_t count;
	char *example; /* a path, on the heap */
};

/* All zero but for the first three: nothing was added. */
struct archive_tree {
	struct foreign_tree *tree;
	const struct foreign_settings *settings;
	bool passes_dots; /* it is a zip */
	bool labelled;	  /* a file in it */
	struct path_table places;
	struct buf path, target; /* of the member in hand */
	struct archive_count counts[ARCHIVE_REASONS];
};

void archive_tree_release(struct archive_tree *archive);

/* Adds a member, or leaves it out. Returns 0, what the watch returned, or as foreign_add(). */
int archive_add(struct archive_tree *archive, const struct archive_member *member, struct err *err);

/* Notes that a tar stays a file, since it is damaged: `why`. 0 or -ENOMEM. */
int archive_keep(struct archive_tree *archive, const struct buf *folder, struct foreign_text path,
		 const char *why);

/* What the scan is to do where the archive is damaged, which `error` and err say: 0 or the error.
 */
int archive_broken(const struct foreign_settings *settings, int error, const struct err *err);

/* Notes what was left out. 0 or -ENOMEM. */
int archive_note(struct archive_tree *archive);
