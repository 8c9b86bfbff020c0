/* What a report says about a dataset, but for the pictures: found from the index, in some
 * passes over it. Only images that are known as such but whose size lies behind the bytes
 * that were looked at when they were packed are looked at again, in the pack.
 *
 * Images are files, and hard links to some, that are images by their name or by their content.
 * Memory: some 30 bytes an image while it is made, 8 afterwards. */
#ifndef PACK_TOOL_REPORT_SURVEY_H
#define PACK_TOOL_REPORT_SURVEY_H

#include "pack/tool/read/summary.h"
#include "pack/tool/report/bins.h"
#include "pack/tool/report/duplicates.h"
#include "pack/tool/report/suspect.h"

#define SURVEY_NAMED 24 /* of those that were found, so many are named */

/* Entries, or classes, of which something is to be told: the first ones by their number. */
struct survey_list {
	uint64_t count;
	uint32_t first[SURVEY_NAMED];
};

void survey_note(struct survey_list *list, uint32_t number);

struct survey_sides {
	uint64_t count;			    /* images of a known size */
	struct summary_range width, height; /* pixels */
	struct bin_plane plane;
	struct bins aspects;		 /* width to height */
	struct survey_list tiny, huge;	 /* whose area is far from the median one */
	struct survey_list wide, narrow; /* over 4:1, under 1:4 */
};

struct survey_bytes {
	uint64_t count; /* images with bytes */
	uint64_t least, median, p99, most;
	uint32_t longest; /* entry */
	struct bins bins;
};

struct survey {
	struct summary summary;
	struct duplicates duplicates;
	struct survey_list suspects[SUSPECT_KINDS];
	struct survey_list unreadable;	   /* what the pack has lost of them: damaged */
	struct survey_list empty_classes;  /* those without what ImageFolder takes */
	struct survey_list missing_labels; /* those that are not in all splits */
	uint32_t *images;  /* how many each label has; behind the last one: outside of classes */
	uint32_t *entries; /* of all images, in index order */
	uint32_t image_count;
	struct survey_sides sides;
	struct survey_bytes bytes;
};

/* 0, -ENOMEM, or what loading the index gave. */
int survey_new(struct dataset *dataset, struct survey **ret);
void survey_free(struct survey *survey);

#endif
