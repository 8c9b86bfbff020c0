/* What compare.c (the trees) and compare_bytes.c (the files) share. */
#ifndef PACK_TOOL_READ_COMPARE_INTERNAL_H
#define PACK_TOOL_READ_COMPARE_INTERNAL_H

#include "pack/tool/import/scan.h"
#include "pack/tool/read/compare.h"

struct compare {
	const struct compare_params *params;
	struct dataset *dataset;
	struct scan *scan;
	uint32_t *in_pack; /* of each entry of the scan its counterpart, or COMPARE_NONE */
	uint32_t *in_scan; /* of each entry of the dataset; COMPARE_NONE, or COMPARE_UNSEEN: what is
			      there has been reported, or could not be looked at */
	int error;	   /* what telling of a special file gave */
};

#define COMPARE_NONE   UINT32_MAX
#define COMPARE_UNSEEN (UINT32_MAX - 1)

/* The entry with the size, mode and time of a scanned file: of another name the first one. */
const struct scan_entry *compare_data(const struct scan *scan, uint32_t number);

/* Reports a difference at an entry of the dataset. */
int compare_tell(const struct compare *compare, uint32_t entry, enum compare_difference what);

/* Compares files of the dataset, ascending, with their counterparts, which are of the same
 * size. As compare(). */
int compare_bytes(const struct compare *compare, uint32_t *files, size_t count);

#endif
