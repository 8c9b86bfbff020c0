/* The members of a tar, header after header: ustar, pax, GNU and old ones, and several one after
 * the other. Their bytes are not read.
 *
 * Not thread-safe. */
#pragma once

#include "pack/foreign/archive/archive_tree.h"
#include "pack/foreign/archive/tar_header.h"
#include "pack/foreign/source.h"

/* All zero but for the source and where the tar lies in it: before the first member. */
struct tar_members {
	struct foreign_source *source;
	uint64_t at;	 /* of the next header */
	uint64_t end;	 /* of the bytes that the tar may have, at most that of the source */
	uint64_t number; /* of the next member, extended headers not counted */
	uint64_t behind; /* bytes after the end that are no tar */
	struct buf path, target;
	struct buf pieces;	    /* struct foreign_piece: of the current member */
	struct tar_extra all, next; /* what pax says of the members to come, and of this one */
};

void tar_members_release(struct tar_members *members);

/* The texts of the member live until the next call. Returns 0; 1 at the end; -EBADMSG (damaged or
 * cut off) with a sentence that begins with the number of the member; -ENOMEM; or the error of the
 * read. */
int tar_members_next(struct tar_members *members, struct archive_member *ret, struct err *err);
