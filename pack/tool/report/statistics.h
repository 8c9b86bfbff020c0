/* Figures of the images of a dataset, and its anomalies, from the index. The pack is read only for
 * images whose size was not in the bytes that were inspected at packing.
 *
 *	statistics_new -> statistics_add_image ... -> statistics_measure -> statistics_json
 *
 * Images are files, and hard links to files, that are images by name or by content. Memory: 30
 * bytes an image while this is made, 4 afterwards. */
#pragma once

#include "pack/tool/read/summary.h"
#include "pack/tool/report/anomalies.h"

/* Histograms are logarithmic: bin i counts values from 2^(i/8) to below 2^((i+1)/8); a ratio's bins
 * begin at 2^-8. Larger values count in the last bin. */
#define STATISTICS_BINS	  8			 /* of a factor of two */
#define STATISTICS_BYTES  (64 * STATISTICS_BINS) /* all sizes */
#define STATISTICS_SIDE	  (17 * STATISTICS_BINS) /* pixels up to 131,071 */
#define STATISTICS_ASPECT (16 * STATISTICS_BINS) /* 1:256 to 256:1 */

struct statistics {
	uint32_t *images;  /* how many each label has; after the last label: those of no class */
	uint32_t *entries; /* of all images, in index order */
	uint32_t image_count;
	uint64_t image_bytes;
	struct {
		uint64_t count; /* images that have bytes */
		struct range range;
		uint64_t p99;
		uint64_t bins[STATISTICS_BYTES];
	} bytes;
	struct buf sized; /* of the images whose size is known, until it is measured */
	struct {
		uint64_t count;					  /* images of a known size */
		struct range width, height;			  /* pixels */
		uint32_t cells[STATISTICS_SIDE][STATISTICS_SIDE]; /* by height, then width */
		uint64_t aspects[STATISTICS_ASPECT];		  /* width to height */
	} sides;
};

/* Notes the anomalies of all files, links, classes and splits, except those that only show when
 * images are read. 0, -ENOMEM, or what loading the index returned. */
int statistics_new(struct dataset *dataset, const struct summary *summary,
		   struct anomalies *anomalies, struct statistics **ret);
void statistics_free(struct statistics *statistics);

/* What an image is in a file of another format, of which only the name is known before it is read.
 * Notes its anomaly. 0 or -ENOMEM. */
int statistics_add_image(struct statistics *statistics, uint32_t number,
			 const struct dataset_entry *entry, const struct dataset_image *image,
			 struct anomalies *anomalies);
/* Measures the sides, once all images that are read were added. 0 or -ENOMEM. */
int statistics_measure(struct statistics *statistics, struct anomalies *anomalies);

/* The label of an entry's class; the number of labels where it is in no class. */
uint32_t statistics_label(const struct classes *classes, uint32_t entry);

/* Adds the figures as members of the open object. */
void statistics_json(const struct statistics *statistics, struct json *json);
