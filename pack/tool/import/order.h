/* In which order the files of a folder are stored: --order.
 *
 *	path		sorted by path: the order of a scan
 *	shuffle:SEED	at random: sorted by the XXH3-64 of the path under the seed, always the same
 *	list:FILE	as their paths stand in FILE, one a line; then the others, sorted
 *
 * A file with several names stands where the first of these names does. */
#pragma once

#include "base/err.h"
#include "pack/scan.h"
#include "pack/write/builder.h"

enum order_kind { ORDER_PATH, ORDER_SHUFFLE, ORDER_LIST };

struct order {
	enum order_kind kind;
	uint64_t seed;
	const char *file; /* of the list */
};

/* Returns 0 or -EINVAL with a sentence. *ret->file points into the text. */
int order_parse(const char *text, struct order *ret, struct err *err);

/* Scans a folder into a builder, which has its root alone. *ret_files must be freed: the files
 * (FORMAT_FILE), ret->files of them, in their order. scan->into is not used. Returns as scan_add();
 * or, with a sentence that names list and line, -ENOENT (a line does not name a file of the scan),
 * -EEXIST (a line is there twice), or what reading the list returned. */
int order_scan(const struct scan_params *scan, const struct order *order, struct builder *builder,
	       struct scan_counts *ret, uint32_t **ret_files, struct err *err);
