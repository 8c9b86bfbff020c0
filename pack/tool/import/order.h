/* In which order the files of a folder are stored: --order.
 *
 *	path		sorted by path: the order of a scan
 *	shuffle:SEED	at random: sorted by the XXH3-64 of the path under the seed, always the same
 *	list:FILE	as their paths stand in FILE, one a line; then the others, sorted
 *
 * A file with several names stands where the first of these names does. */
#pragma once

#include "base/err.h"
#include "pack/filter.h"
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

/* The files (FORMAT_FILE) that a scan has added to a builder, counts->files of them, in their
 * order. *ret must be freed. `filter` is that of the scan, to say why a line does not name one of
 * its files. Returns 0; -ENOMEM; or, with a sentence that names list and line, -ENOENT (a line does
 * not name a file of the scan), -EEXIST (a line is there twice), or what reading the list returned.
 */
int order_files(const struct order *order, struct filter *filter, const struct builder *builder,
		const struct scan_counts *counts, uint32_t **ret, struct err *err);
