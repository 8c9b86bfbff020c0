/* A delta: what a folder has that an older pack of it, the base, has not.
 *
 * A delta has the whole index of the folder as it is now: names, kinds, modes, times, links and
 * checksums. So what is gone needs no mark, and the order of the entries, the id and the content id
 * are those of a pack of all of it. Only bytes that the base has are missing: a FORMAT_BASE names
 * the entry of the base that has them.
 *
 * The line "base=ID" of the options is the id that the base has as one pack: dataset_whole_id(). It
 * says what an entry of the base is called and which bytes it has, so the base may be whatever
 * makes that tree: one pack, a set of shards, an older pack with the deltas since. And it says all
 * else that a delta may change, modes, times and links, so that deltas cannot change places.
 *
 * Where the base is several packs, a line "base-set=ID" has the id that they have together
 * (pack/dataset_merge.h): to know them by it, no more of their indexes needs to be read. */
#pragma once

#include "pack/dataset.h"

#define DELTA_LINES (sizeof("base=\nbase-set=\n") + 2 * (FORMAT_ID_TEXT - 1))

/* The lines for a delta that is to be made. As dataset_content_id(). */
int delta_name_base(struct dataset *base, char ret[static DELTA_LINES]);
/* What dataset_info() says is the id of its base: 0, or -EBADMSG with a sentence. */
int delta_since(const struct dataset *delta, char ret[static FORMAT_ID_TEXT], struct err *err);
/* Whether a dataset, which may be a delta without its own base, is the base. Returns 0; -ENOENT
 * with a sentence (it is no delta of this); -EBADMSG; or as dataset_content_id(). */
int delta_fits(const struct dataset *delta, struct dataset *base, struct err *err);

/* Puts a delta on its base: from then on it is the dataset of the whole folder, and owns the base,
 * of which only the bytes are left. Returns as delta_fits(). On failure the base stays the
 * caller's, and the delta is good for nothing but dataset_free(). */
int delta_apply(struct dataset *delta, struct dataset *base, struct err *err);

/* Compares the checksums of what it has from a base that fits with those that the base has of it.
 * The damage is "wrong-base". Returns 0 (whatever was found), or as dataset_load(). */
int delta_check(struct dataset *delta, struct dataset *base, dataset_fault_fn *found,
		void *context);
