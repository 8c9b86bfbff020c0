/* A format that a dataset is written in: what stands around the bytes of an image, and what the
 * files are called.
 *
 * A format frames samples; it reads and writes nothing. */
#ifndef PACK_TOOL_EXPORT_FORMAT_H
#define PACK_TOOL_EXPORT_FORMAT_H

#include "base/err.h"
#include "pack/tool/export/samples.h"

/* What is exported. Immutable, so that threads share it. */
struct export_source {
	struct dataset *dataset; /* with the parts that the format needs loaded */
	const struct samples *samples;
	bool numbered; /* samples are called by their numbers, not by their paths */
};

struct export_format {
	unsigned parts; /* of the dataset, beside its checksums: enum dataset_part */
	/* Why a file is not held, as "over 2 GiB", or NULL. */
	const char *(*refuses)(const struct dataset_entry *file);
	/* Why all of them together are not, -EEXIST, or 0. NULL: they always are. */
	int (*check)(const struct export_source *source, struct err *err);
	/* Appends what comes before and after the bytes of a sample. Returns 0 or -ENOMEM, or as
	 * dataset_load(). */
	int (*frame)(const struct export_source *source, uint64_t number, struct buf *head,
		     struct buf *tail);
	/* Completes a record that has its bytes; NULL: it is complete. */
	void (*seal)(uint8_t *record, uint64_t len);

	/* The rest is of formats in shards. */
	/* Appends the name of a shard. Returns 0 or -ENOMEM. NULL: there is one file. */
	int (*name)(struct buf *name, const char *target, uint64_t shard, uint64_t shards);
	/* Appends what the names of shards begin with. The same. */
	int (*stem)(struct buf *stem, const char *target);
	/* Whether that and `rest` is the name of a shard, but none of `shards`. */
	bool (*is_stray)(const char *rest, uint64_t shards);
	/* Of the list "offset length" of its records, a line each. NULL: there is none. */
	int (*list_name)(struct buf *name, const char *target, uint64_t shard, uint64_t shards);
	size_t zeros; /* that end a shard */
};

extern const struct export_format export_lmdb, export_tfrecord, export_webdataset;

#endif
