/* A delta: what a folder has that an older pack of it, the base, has not.
 *
 * A delta has the whole index of the folder as it is now: names, kinds, modes, times, links and
 * checksums. So what is gone needs no mark, and the order of the entries, the id and the content id
 * are those of a pack of all of it. Only bytes that the base has are missing: a FORMAT_BASE names
 * the entry of the base that has them.
 *
 * The line "since=ID" of the options is the content id of the base. Paths and bytes decide it, and
 * they decide what an entry of the base is called. So the base may be whatever makes that tree: one
 * pack, a set of shards, an older pack with the deltas since. */
#pragma once

#include "pack/dataset.h"

#define DELTA_SINCE "since="

/* The content id of its base: 0, or -EBADMSG with a sentence. */
int delta_since(const struct dataset *delta, char ret[static FORMAT_ID_TEXT], struct err *err);

/* Puts a delta on its base: from then on it is the dataset of the whole folder, and owns the base,
 * of which only the bytes are left. Returns 0; -ENOENT with a sentence (it is no delta of this); as
 * dataset_content_id(); -EBADMSG. On failure the base stays the caller's, and the delta is good for
 * nothing but dataset_free(). */
int delta_apply(struct dataset *delta, struct dataset *base, struct err *err);
