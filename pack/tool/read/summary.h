/* A dataset's figures, from one pass over its index. */
#ifndef PACK_TOOL_READ_SUMMARY_H
#define PACK_TOOL_READ_SUMMARY_H

#include "pack/tool/read/classes.h"

struct summary_range {
	uint32_t min, median, max;
};

struct summary_images {
	uint64_t count, sized;		    /* sized: width and height are known */
	struct summary_range width, height; /* of those */
};

struct summary {
	struct classes classes;
	struct class_sizes *class_sizes;	   /* of each split */
	struct summary_images images[IMAGE_KINDS]; /* IMAGE_UNKNOWN: everything else */
	uint64_t aliases, alias_bytes;		   /* files whose bytes are stored for others */
	/* The share of the files that have bytes of their own, in index order, whose bytes do not
	 * begin within a MiB of where those of the file before end. (Small values fill their page
	 * from its end, so that it may be a little before.) */
	double fragmentation;
};

/* 0, -ENOMEM, or what loading the index gave. */
int summary_new(struct dataset *dataset, struct summary *ret);
void summary_release(struct summary *summary);

/* How much larger the pack is than its files, in percent of them; they have bytes. Below zero
 * where files share them. */
double summary_overhead(const struct dataset_info *info);

#endif
