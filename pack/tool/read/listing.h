/* What the index has of an entry, and how `foldpack list --json` and scripts (serve.h) get it. */
#pragma once

#include "base/json.h"
#include "pack/dataset.h"

#define LISTING_PARTS (DATASET_ATTRS | DATASET_IMAGES | DATASET_CHECKSUMS)

/* Besides its place. What is not of the parts is 0. */
struct listing_facts {
	struct dataset_attr attr;
	struct dataset_image image;
	char checksum[17]; /* "-": it has no bytes */
};

/* 0, or as dataset_load(). */
int listing_facts(struct dataset *dataset, uint32_t entry, unsigned parts,
		  struct listing_facts *ret);

/* Adds the members of an entry to the open object: path, type and size; mode and times
 * (DATASET_ATTRS); width, height and kind (DATASET_IMAGES); checksum (DATASET_CHECKSUMS); and where
 * a link leads, or whose bytes it has. 0, -ENOMEM, or as dataset_load(). */
int listing_json(struct dataset *dataset, uint32_t entry, unsigned parts, struct json *json);
