/* Images of a dataset that are byte-identical: they have the same size and the same checksums.
 *
 * Only the index is read. Checksums are XXH3-64 of each MiB: of 40 million datasets with a million
 * different images each, about one has two images with equal size and checksum. A hard link counts
 * as a copy of its file, as a reader sees it. Empty files and symbolic links do not count. */
#pragma once

#include "base/json.h"
#include "pack/tool/read/classes.h"

#define DUPLICATES_LISTED 100000
#define DUPLICATES_NAMED  16 /* copies of a group */

/* How far apart the copies lie, the worst last. */
enum duplicate_reach {
	DUPLICATE_CLASS,   /* in one class */
	DUPLICATE_CLASSES, /* in several classes of a split: under contradicting labels */
	DUPLICATE_SPLITS,  /* in several splits: what is trained on is tested on */
	DUPLICATE_REACHES
};

struct duplicate_file {
	uint64_t size, checksum;
	uint32_t entry;
};

struct duplicate_group {
	uint32_t first, count; /* the copies, in files */
	enum duplicate_reach reach;
};

struct duplicate_total {
	uint64_t groups, files; /* files: all copies */
	uint64_t bytes;		/* of the copies, without the first of each group */
};

struct duplicates {
	struct duplicate_file *files;	/* all, by size, checksum, entry */
	struct duplicate_group *groups; /* by reach, the worst first; then by their first entry */
	uint64_t group_count;
	struct duplicate_total totals[DUPLICATE_REACHES];
};

/* Looks among `count` entries, which are files or hard links to files, in index order. Memory: 24
 * bytes an entry. Returns 0, -ENOMEM, or what loading the checksums returned. */
int duplicates_new(struct dataset *dataset, const struct classes *classes, const uint32_t *entries,
		   uint32_t count, struct duplicates *ret);
void duplicates_release(struct duplicates *duplicates);

/* Sets the bits of entries that are copies of an earlier one under the same label. 0 or -ENOMEM. */
int duplicates_mark(const struct duplicates *duplicates, const struct classes *classes,
		    uint8_t *copies);

/* Adds an array for each of the first DUPLICATES_LISTED groups of a reach to the open one: the
 * number of the class of a copy + 1, or 0, then its path, and so on. If some copies are not named,
 * their number comes last. 0 or -ENOMEM. */
int duplicates_items_json(const struct duplicates *duplicates, enum duplicate_reach reach,
			  struct dataset *dataset, const struct classes *classes,
			  struct json *json);
