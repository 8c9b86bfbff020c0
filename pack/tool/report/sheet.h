/* A contact sheet: some pictures of each class, embedded in a page.
 *
 *	sheet_new -> sheet_write -> sheet_release
 *
 * The pictures of a class are evenly spaced over all its images, in all splits. Where that were
 * more than SHEET_MOST pictures, not every class is shown, but evenly spaced ones from the
 * largest to the smallest: a page stays below some ten MB whatever the dataset has. */
#ifndef PACK_TOOL_REPORT_SHEET_H
#define PACK_TOOL_REPORT_SHEET_H

#include "pack/tool/report/html.h"
#include "pack/tool/report/survey.h"

#define SHEET_MOST 1200

struct sheet_picture {
	uint32_t label; /* as in survey.images: behind the last one are those of no class */
	uint32_t entry;
};

struct sheet {
	struct sheet_picture *pictures; /* by label, then in index order */
	uint32_t count;
	uint64_t bytes;		/* of the pictures */
	uint32_t labels, shown; /* that have images; that are on the sheet */
	/* Known once it is written: */
	struct survey_list unreadable; /* damaged in the pack */
	struct survey_list broken;     /* images that are */
};

/* Which pictures are shown, at most `samples` of a class. 0 or -ENOMEM. */
int sheet_new(const struct dataset *dataset, const struct survey *survey, uint32_t samples,
	      struct sheet *ret);
void sheet_release(struct sheet *sheet);

struct sheet_source {
	struct dataset *dataset;
	const struct survey *survey;
	/* Behind each picture, with its bytes: 0 to go on, or -errno, which becomes the result. */
	int (*done)(void *context, uint64_t bytes);
	void *context;
};

/* Appends an element for each class. 0, -ENOMEM, or what `done` gave. */
int sheet_write(struct sheet *sheet, const struct sheet_source *source, struct html *html);

#endif
