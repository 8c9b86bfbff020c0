/* Some pictures of each class, and a check of the images that are read for them.
 *
 *	contact_sheet_new -> contact_sheet_read -> contact_sheet_json -> contact_sheet_release
 *
 * The pictures of a label are evenly spaced over all its images, in all splits, less copies: no two
 * are the same. If there would be more than CONTACT_SHEET_MOST pictures, only some labels are
 * shown, evenly spaced from the one with the most images to the one with the fewest. This keeps a
 * page below some ten MB.
 *
 * If all images together have at most `check_all` bytes, all of them are read and checked;
 * otherwise only those that are shown. */
#pragma once

#include "pack/tool/report/statistics.h"

#define CONTACT_SHEET_MOST 1200

struct contact_sheet_picture {
	uint32_t label; /* as in statistics.images */
	uint32_t entry;
	uint32_t width, height;
	bool shown;	 /* otherwise text says why there is no picture */
	struct buf text; /* a data: address, or a reason; empty until it is read */
};

struct contact_sheet {
	struct contact_sheet_picture *pictures; /* by label, then in index order */
	uint32_t count;
	uint32_t labels, labels_shown; /* that have images; that are on the sheet */
	uint32_t *reads, read_count;   /* entries of the images to read, as pictures are in order */
	uint64_t read_bytes;	       /* of these */
};

struct contact_sheet_source {
	struct dataset *dataset;
	const struct summary *summary;
	struct statistics *statistics;
	const uint8_t *copies; /* duplicates_mark() */
	uint64_t check_all;
	/* After each image, with its bytes: 0 to go on, or -errno, which becomes the result. */
	int (*done)(void *context, uint64_t bytes);
	void *context;
};

/* Chooses at most `samples` pictures of a label; 0: none. 0 or -ENOMEM. */
int contact_sheet_new(const struct contact_sheet_source *source, uint32_t samples,
		      struct contact_sheet *ret);
void contact_sheet_release(struct contact_sheet *sheet); /* {0} is fine */

/* Reads the images, makes the pictures, notes what is damaged, truncated or corrupt, and adds those
 * at which nobody has looked to the statistics. 0, -ENOMEM, or what `done` gave. */
int contact_sheet_read(struct contact_sheet *sheet, const struct contact_sheet_source *source,
		       struct anomalies *anomalies);

/* Adds the pictures as members of the open object. 0 or -ENOMEM. */
int contact_sheet_json(const struct contact_sheet *sheet, const struct contact_sheet_source *source,
		       struct json *json);
