/* What was found in a dataset, in words: anomalies and copies, what hurts most first. */
#pragma once

#include "pack/tool/report/anomalies.h"
#include "pack/tool/report/duplicates.h"

#define FINDINGS_SHOWN 20 /* items of a kind in HTML */

struct findings {
	const struct anomalies *anomalies;
	const struct duplicates *duplicates;
	struct dataset *dataset;
	const struct classes *classes;
};

/* Adds an object for each kind that was found to the open array: {"kind", "bad", "title", "means",
 * "count", "items"}: anomalies_items_json(), or duplicates_items_json(). 0 or -ENOMEM. */
int findings_json(const struct findings *findings, struct json *json);

/* Adds the same as HTML, for browsers that run no script. */
void findings_html(const struct findings *findings, struct buf *html);

/* Adds a name, which may be any bytes, as text of HTML. */
void findings_add_name(struct buf *html, const char *name, size_t len);
