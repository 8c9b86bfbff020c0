/* A format that a dataset is written in: what goes around the bytes of an image, and how the files
 * are named.
 *
 * A format frames samples. It reads and writes nothing. */
#pragma once

#include "base/err.h"
#include "pack/tool/export/samples.h"

/* What is exported. It does not change, so threads share it. */
struct export_source {
	struct dataset *dataset; /* with the parts that the format needs loaded */
	const struct samples *samples;
	bool numbered; /* samples are called by their numbers, not by their paths */
};

struct export_format {
	unsigned parts; /* that it needs of the dataset, besides checksums: enum dataset_part */
	/* Why the format cannot hold a file, such as "over 2 GiB", or NULL. */
	const char *(*refuses)(const struct samples *samples, const struct dataset_entry *file);
	/* Whether it can hold all samples together: 0 or -EEXIST. NULL: it always can. */
	int (*check)(const struct export_source *source, struct err *err);
	/* Appends what comes before and after the bytes of a sample. Returns 0 or -ENOMEM, or as
	 * dataset_load(). */
	int (*frame)(const struct export_source *source, uint64_t number, struct buf *head,
		     struct buf *tail);
	/* Completes a record that has its bytes; NULL: nothing is missing. */
	void (*seal)(uint8_t *record, uint64_t len);

	/* The rest is for formats in shards. */
	/* Appends the name of a shard. Returns 0 or -ENOMEM. NULL: there is one file. */
	int (*name)(struct buf *name, const char *target, uint64_t shard, uint64_t shards);
	/* Appends what the names of shards begin with. Returns the same. */
	int (*stem)(struct buf *stem, const char *target);
	/* Whether that and `rest` name a shard, but none of these `shards`. */
	bool (*is_stray)(const char *rest, uint64_t shards);
	/* Appends the name of the list of its records, lines "offset length". NULL: no list. */
	int (*list_name)(struct buf *name, const char *target, uint64_t shard, uint64_t shards);
	size_t zeros; /* bytes of zeros that end a shard */
};

extern const struct export_format export_lmdb, export_tfrecord, export_webdataset;
