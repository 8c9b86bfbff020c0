/* The figures of a dataset, from its index alone: what `foldpack info` shows, and the beginning of
 * the page of `foldpack report`. Both write them as JSON by summary_json(). */
#ifndef PACK_TOOL_READ_SUMMARY_H
#define PACK_TOOL_READ_SUMMARY_H

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
	uint64_t aliases, alias_bytes;		   /* files that share the bytes of others */
	/* The share of the files with bytes of their own whose bytes do not begin within a MiB of
	 * the end of the previous file's, in index order. (Small values fill their page from its
	 * end: a file may begin a little before the end of the previous one.) */
	double fragmentation;
};

/* 0, -ENOMEM, or what loading the index gave. */
int summary_new(struct dataset *dataset, struct summary *ret);
void summary_release(struct summary *summary);

/* How much larger the pack is than its files, in percent of their bytes, which is not 0. Negative
 * where files share bytes. */
double summary_overhead(const struct dataset_info *info);

/* Adds the figures as members of the open object. `class_table`: also those of each class. */
void summary_json(const struct dataset_info *info, const struct summary *summary, bool class_table,
		  struct json *json);

/* The checksum of a file: the XXH3-64 of its bytes where it has one extent at
 * most; else the XXH3-64 of its extents' checksums, each 8 bytes, little-endian.
 * 0, or what loading the checksums gave. */
int summary_checksum(struct dataset *dataset, uint32_t entry, uint64_t *ret);

#endif
