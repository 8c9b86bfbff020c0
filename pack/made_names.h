/* Names that are made up for images that have none: a text for the file and the number of the
 * record, "train-00003-of-01024-00000017.JPEG" or "00000017.JPEG". The index of a foreign file has
 * a line with the text where it has such names. Where several files have the same one, what their
 * own names have in addition stands in front of it here, so that their images keep apart:
 *
 *	year=2025/part-0.parquet    year=2025-part-0-00000017.JPEG
 *	year=2026/part-0.parquet    year=2026-part-0-00000017.JPEG
 *	a.lmdb, b/data.mdb          a-00000017.JPEG, b-00000017.JPEG
 *
 * Not thread-safe. */
#pragma once

#include "base/buf.h"
#include <stddef.h>

struct dataset_pack;
struct renames;

#define MADE_NAMES_DIGITS 8 /* at least */

/* Appends the line; `prefix`: "", or as "train-00003-of-01024-". 0 or -ENOMEM. */
int made_names_write(const char *prefix, struct buf *ret);
/* Bytes of the name of a file, or a part of its path, without a suffix of letters, as ".tfrecord",
 * but with one as ".tfrecord-00003-of-01024". */
size_t made_names_stem(const char *base, size_t len);

/* `renames` has one of each pack, which this adds to. 0 or -ENOMEM. */
int made_names_part(const struct dataset_pack *packs, unsigned count, struct renames *renames);
