/* A dataset's figures, from one pass over its index. */
#ifndef PACK_TOOL_SUMMARY_H
#define PACK_TOOL_SUMMARY_H

#include "pack/dataset.h"

struct summary_range {
	uint32_t min, median, max;
};

struct summary_images {
	uint64_t count, sized;		    /* sized: width and height are known */
	struct summary_range width, height; /* of those */
};

/* A top-level directory such as train/. */
struct summary_split {
	const char *name; /* of the dataset; not NUL-ended */
	size_t name_len;
	uint64_t classes, files;
};

struct summary {
	uint64_t classes; /* as ImageFolder counts them: of all splits, or of the root */
	struct summary_split *splits; /* where each top-level directory holds directories only */
	uint32_t split_count;
	struct summary_images images[IMAGE_KINDS]; /* IMAGE_UNKNOWN: everything else */
	/* The share of the files, in index order, whose bytes do not begin within a MiB of where
	 * those of the file before end. (Small values fill their page from its end, so that it
	 * may be a little before.) */
	double fragmentation;
};

/* 0, -ENOMEM, or what loading the index gave. */
int summary_new(struct dataset *dataset, struct summary *ret);
void summary_release(struct summary *summary);

/* How much larger the pack is than its files, in percent of them; they have bytes. */
double summary_overhead(const struct dataset_info *info);

#endif
