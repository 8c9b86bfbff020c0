/* In which order the files of a folder are stored: --order.
 *
 *	path		sorted by path: the order of a scan
 *	shuffle:SEED	at random: sorted by XXH3-64 of the path under the seed, always the same
 *	list:FILE	as their paths stand in FILE, one a line; the others after them, sorted
 *
 * A file with several names stands where the first of them does. */
#ifndef PACK_TOOL_IMPORT_ORDER_H
#define PACK_TOOL_IMPORT_ORDER_H

#include "base/err.h"
#include "pack/tool/import/filter.h"
#include "pack/tool/import/scan.h"

enum order_kind { ORDER_PATH, ORDER_SHUFFLE, ORDER_LIST };

struct order {
	enum order_kind kind;
	uint64_t seed;
	const char *file; /* of the list */
	/* Not 0: of all files about this many, chosen by the hash of their paths, and sorted by
	 * path, whatever the kind. */
	uint64_t sample;
};

/* Returns 0 or -EINVAL with a sentence. *ret->file points into the text. */
int order_parse(const char *text, struct order *ret, struct err *err);

/* The files (FORMAT_FILE) that a scan has added to a builder, in their order; *ret is to be freed.
 * `filter` is what it was scanned with, to say why a line is no file of it; NULL: all is wanted.
 * Returns 0; -ENOMEM; -ENOENT (a line that is no file of the scan), -EEXIST (a line that is there
 * twice), or what reading the list gave, with a sentence that names list and line. */
int order_files(const struct order *order, const struct filter *filter,
		const struct builder *builder, const struct scan_counts *counts, uint32_t **ret,
		uint64_t *ret_count, struct err *err);

#endif
