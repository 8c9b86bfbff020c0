/* Several readers as one: each is a volume, and its bytes begin where reader_volumes_start() says.
 *
 *	0            size of the 1st     start of the 2nd                 start of the 3rd
 *	| volume 0   |     hole          | volume 1          |   hole     | volume 2
 *
 * The holes are wider than any gap that is read over, so that no read spans two volumes: what plans
 * reads by their offsets need not know of volumes. A read that begins in a hole, or ends beyond its
 * volume, ends early, as at the end of a file.
 *
 * The caller owns the readers, which must outlive this one. If any is remote, all are read like far
 * ones; those that are not are read in the thread that submits. */
#pragma once

#include "base/reader.h"

#define READER_VOLUMES_HOLE ((uint64_t)1 << 30) /* bytes, at least */

/* Returns 0, -ENOMEM, -EOVERFLOW (more than 64 bits can count), or the error of a reader that was
 * asked its size. */
int reader_volumes_new(struct reader *const *readers, unsigned count, struct reader **ret);

/* Where the next volume begins after one of `size` bytes at `start`. */
uint64_t reader_volumes_after(uint64_t start, uint64_t size);

/* The offset of the first byte of a volume, a multiple of READER_PAGE. */
uint64_t reader_volumes_start(const struct reader *reader, unsigned volume);
/* The volume that an offset lies in, or in the hole after it. */
unsigned reader_volumes_find(const struct reader *reader, uint64_t offset);
