/* Headers of tar files: ustar, with a pax header before it only for what does not fit into ustar.
 *
 * Owner and group are 0 and have no names, so the same files give the same tar. */
#pragma once

#include "base/buf.h"
#include <sys/types.h>

#define USTAR_BLOCK 512

struct ustar_member {
	const char *name; /* not NUL-ended */
	size_t name_len;
	uint64_t size; /* bytes */
	mode_t mode;   /* permission bits */
	int64_t mtime; /* seconds since 1970; before that: 1970 */
};

/* Appends the header of a file. Returns 0 or -ENOMEM. */
int ustar_header(const struct ustar_member *member, struct buf *to);

/* Appends the zeros after `size` bytes of a file. Same rules. */
int ustar_pad(uint64_t size, struct buf *to);
