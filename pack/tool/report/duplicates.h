/* Images of a dataset that have the same bytes: the same size, and the same checksums.
 *
 * From the index alone. Checksums are XXH3-64 of each MiB: among a million different images
 * two of one size meet by chance once in 40 million datasets. A hard link counts as a copy of its
 * file, for that is what a reader gets; empty files and symbolic links do not count. */
#ifndef PACK_TOOL_REPORT_DUPLICATES_H
#define PACK_TOOL_REPORT_DUPLICATES_H

#include "pack/tool/read/classes.h"

/* How far apart the copies lie, the worst last. */
enum duplicate_reach {
	DUPLICATE_CLASS,   /* in one class */
	DUPLICATE_CLASSES, /* in several classes of a split: under contradicting labels */
	DUPLICATE_SPLITS,  /* in several splits: what is trained on is tested on */
	DUPLICATE_REACHES
};

struct duplicate_group {
	uint32_t first, count; /* the copies, in entries */
	enum duplicate_reach reach;
};

struct duplicate_sum {
	uint64_t groups, files; /* files: all copies */
	uint64_t bytes;		/* that the copies take beside the first of each group */
};

struct duplicates {
	uint32_t *entries;		/* group by group, each in index order */
	struct duplicate_group *groups; /* by reach, the worst first; then by their first entry */
	uint64_t group_count;
	struct duplicate_sum sums[DUPLICATE_REACHES];
};

/* Among the `count` files (or hard links to some) in `files`, in index order. Memory: 28 bytes a
 * file while it looks. Returns 0, -ENOMEM, or what loading the checksums gave. */
int duplicates_new(struct dataset *dataset, const struct classes *classes, const uint32_t *files,
		   uint32_t count, struct duplicates *ret);
void duplicates_release(struct duplicates *duplicates);

#endif
