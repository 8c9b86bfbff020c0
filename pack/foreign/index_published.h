/* The index that a publisher has laid beside a file, on its server or here: NAME.foldfs-index,
 * which 'foldpack index' writes. It is an index file with all checksums, whose key has no time,
 * since each copy of the file has another, and an object only if it was made of a URL
 * (index_file.h).
 *
 * If it belongs to the file it is kept where those of our own are, with a line `published`: its
 * size and time. That is never published again, and of a file on this machine counts only while the
 * publisher's is there and the same. Nothing in it is believed: it is
 * checked as that of a pack is, leads to no bytes but those of the file, and bytes that do not fit
 * its checksums are not served. */
#pragma once

#include "base/err.h"
#include "pack/foreign/index_key.h"

/* `changed`: one of our own is of the file as it was before. Returns 0, or -ENOENT: there is none
 * that is of use. If there is one, a notice says why not. */
int index_published_take(const struct foreign_tree *tree, const struct index_key *key, bool changed,
			 struct reader **ret);
/* Whether an index with these options is our own, or was taken and still counts. */
bool index_published_counts(const struct foreign_tree *tree, const char *options);

/* Writes what an index that has all checksums becomes there, at once, with these bits of a mode.
 * Returns 0, -EEXIST (what is there is no index), or -errno; err may have a sentence. */
int index_published_write(struct reader *index, const char *path, mode_t mode, struct err *err);
