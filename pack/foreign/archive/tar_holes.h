/* The map of a sparse file: which bytes of it a tar has. GNU tar has written maps in four ways:
 *
 *	in the header, type 'S', and in blocks behind it     (gnu)
 *	records GNU.sparse.offset and GNU.sparse.numbytes    (pax 0.0)
 *	a record GNU.sparse.map                              (pax 0.1)
 *	numbers in front of the bytes                        (pax 1.0)
 *
 * Any bytes may be given. Pure. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "pack/foreign/text.h"
#include <stdbool.h>

/* All zero: it is not sparse. */
struct tar_holes {
	bool sparse;
	bool in_front;	 /* the map stands in front of the bytes */
	uint64_t size;	 /* of the file, with its holes */
	struct buf path; /* of the file; empty: not said */
	struct buf map;	 /* uint64_t: where bytes go, and how many; two for each piece */
};

void tar_holes_release(struct tar_holes *holes);

/* Takes a record of a pax header, if it is one of these. 0, -EBADMSG or -ENOMEM. */
int tar_holes_take(struct tar_holes *holes, struct foreign_text key, struct foreign_text value,
		   struct err *err);

/* Takes `count` pairs of numbers of a header, each of 12 bytes, up to an empty one. As
 * tar_holes_take(). */
int tar_holes_take_fields(struct tar_holes *holes, const uint8_t *fields, unsigned count,
			  struct err *err);

/* Takes the map in front of the bytes. Sets *ret to the bytes that it takes. 1 where it goes on
 * behind these; else as tar_holes_take(). */
int tar_holes_take_front(struct tar_holes *holes, struct foreign_text text, size_t *ret,
			 struct err *err);

/* Whether the pieces follow each other, lie in the file, and have these bytes together: 0 or
 * -EBADMSG. Sets *ret to the bytes of the holes. */
int tar_holes_check(const struct tar_holes *holes, uint64_t stored, uint64_t *ret, struct err *err);
