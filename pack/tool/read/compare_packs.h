/* Compares two datasets, such as an older pack and what became of it, by their indexes: no byte of
 * a file is read. */
#pragma once

#include "pack/tool/read/compare.h"

struct compare_packs_params {
	struct dataset *before, *after; /* with DATASET_CHECKSUMS loaded, which each file has;
					   for attributes with DATASET_ATTRS */
	bool attributes;
	/* As that of compare(), in the order of paths: `before` is the folder. */
	int (*found)(void *context, const struct compare_finding *finding);
	void *context;
};

/* 0 (whatever was found), -ENOMEM, or what found() returned. */
int compare_packs(const struct compare_packs_params *params);
