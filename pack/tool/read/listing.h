/* What the index has of an entry, and how `foldpack list --json` and scripts (serve.h) get it. And
 * part of the tree of a pack: what the paths on a command line name, with everything below. */
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

struct subtree {
	uint8_t *marks; /* enum subtree_mark of each entry; NULL: everything is inside */
};

enum subtree_mark {
	SUBTREE_OUTSIDE,
	SUBTREE_ABOVE, /* a directory on the way to what is inside */
	SUBTREE_INSIDE,
};

/* The entries that `paths` name; the list ends with NULL, and an empty one means the whole tree.
 * Prints what is not in the pack. Returns EXIT_DONE, or the status to end with. */
int subtree_new(const char *pack, const struct dataset *dataset, char **paths, struct subtree *ret);
void subtree_release(struct subtree *subtree);

static inline enum subtree_mark subtree_mark(const struct subtree *subtree, uint32_t entry)
{
	return subtree->marks ? (enum subtree_mark)subtree->marks[entry] : SUBTREE_INSIDE;
}
