/* The figures of a dataset, from its index alone: what `foldpack info` shows, and the beginning of
 * the page of `foldpack report`. summary_json() writes them as JSON for both. */
#pragma once

#include "pack/tool/read/classes.h"

struct summary_images {
	uint64_t count, sized;	    /* sized: width and height are known */
	struct range width, height; /* of those */
};

struct summary {
	char content_id[FORMAT_ID_TEXT];
	struct classes classes;
	struct class_sizes *class_sizes;	   /* of each split */
	struct summary_images images[IMAGE_KINDS]; /* IMAGE_UNKNOWN: everything else */
	uint64_t not_resized; /* images that are larger than the pack's options asked for */
	uint64_t aliases, alias_bytes; /* files that share the bytes of others */
	uint64_t based, based_bytes;   /* files of a delta whose bytes are in its base */
	/* The share of files that do not follow the one before: their bytes do not begin within a
	 * MiB of the end of the previous file, in index order. Only files with bytes of their own
	 * count. (Small values fill their page from its end, so a file may begin a little before
	 * the end of the previous one.) */
	double fragmentation;
};

/* 0, -ENOMEM, or what loading the index gave. */
int summary_new(struct dataset *dataset, struct summary *ret);
void summary_release(struct summary *summary);

/* How much larger the pack is than its files, in percent of their bytes, which must not be 0.
 * Negative if files share bytes. */
double summary_overhead(const struct dataset_info *info);

/* Adds the figures as members of the open object; with `class_table` also those of each class. */
void summary_json(const struct dataset_info *info, const struct summary *summary, bool class_table,
		  struct json *json);

/* The checksum of a file. With at most one extent: the XXH3-64 of its bytes. With more: the XXH3-64
 * of the checksums of its extents, 8 bytes each, little-endian. 0, or what loading the checksums
 * returned. */
int summary_checksum(struct dataset *dataset, uint32_t entry, uint64_t *ret);
