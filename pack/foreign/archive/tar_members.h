/* The members of a tar, header after header: ustar, pax, GNU and old ones, and several one after
 * the other. Their bytes are not read.
 *
 * Not thread-safe. */
#ifndef PACK_FOREIGN_ARCHIVE_TAR_MEMBERS_H
#define PACK_FOREIGN_ARCHIVE_TAR_MEMBERS_H

#include "pack/foreign/archive/tar_header.h"
#include "pack/foreign/source.h"
#include "pack/foreign/tree.h"

enum tar_member_kind {
	TAR_MEMBER_FILE,
	TAR_MEMBER_FOLDER,
	TAR_MEMBER_SYMLINK,
	TAR_MEMBER_HARDLINK,
	/* No bytes of their own, or not as a file has them: */
	TAR_MEMBER_SPARSE,
	TAR_MEMBER_DEVICE,
	TAR_MEMBER_PIPE,
	TAR_MEMBER_UNKNOWN,
	TAR_MEMBER_KINDS,
};

struct tar_member {
	uint64_t number; /* in the tar, from 0 on, extended headers not counted */
	enum tar_member_kind kind;
	struct foreign_text path, target; /* as the tar has them; live until the next call */
	mode_t mode;			  /* permission bits, with a type: it is known */
	int64_t mtime;			  /* nanoseconds */
	uint64_t offset, size;		  /* of its bytes, which lie in the tar */
};

/* All zero but for the source and where the tar lies in it: before the first member. */
struct tar_members {
	struct foreign_source *source;
	uint64_t at;	 /* of the next header */
	uint64_t end;	 /* of the bytes that the tar may have, at most that of the source */
	uint64_t number; /* of the next member */
	uint64_t behind; /* bytes after the end that are no tar */
	struct buf path, target;
	struct tar_extra all, next; /* what pax says of the members to come, and of the next one */
};

void tar_members_release(struct tar_members *members);

/* Returns 0; 1 at the end; -EBADMSG (damaged or cut off) with a sentence that begins with the
 * number of the member; -ENOMEM; or the error of the read. */
int tar_members_next(struct tar_members *members, struct tar_member *ret, struct err *err);

#endif
