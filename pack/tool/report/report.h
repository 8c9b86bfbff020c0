/* One page to look at a dataset: figures, what is worth a look, charts, a contact sheet.
 *
 * The page is page.html around one JSON object:
 *
 *	{"name", "version",
 *	 "info":     what foldpack info --json -v says, without the path,
 *	 "images":   statistics_json(),
 *	 "findings": anomalies_json(), then duplicates_json(),
 *	 "sheet":    contact_sheet_json()}
 *
 * It needs no network, and is the same for the same pack. */
#ifndef PACK_TOOL_REPORT_REPORT_H
#define PACK_TOOL_REPORT_REPORT_H

#include "pack/dataset.h"

/* The first bytes of every page. */
#define REPORT_BEGINS "<!DOCTYPE html>\n<!-- a report of foldpack -->\n"

struct report_params {
	struct dataset *dataset;
	const char *name; /* of the dataset, as the page calls it */
	uint32_t samples; /* pictures of a class; 0: none */
	/* The images that will be read, and their bytes; once. */
	void (*total)(void *context, uint64_t images, uint64_t bytes);
	/* After each: 0 to go on, or -errno, which becomes the result. */
	int (*done)(void *context, uint64_t bytes);
	void *context;
};

/* Writes the page into *page, an empty buf. *ret_damaged: the files that turned out to be damaged
 * in the pack; the page names them. Returns 0, -ENOMEM, what loading the index gave, or what `done`
 * gave. */
int report_write(const struct report_params *params, struct buf *page, uint64_t *ret_damaged);

#endif
