/* From the entries of a builder to the sections of the index. Internal to pack/write/. */
#pragma once

#include "pack/write/builder_internal.h"

/* Which entry of the index each node becomes. */
struct builder_tree {
	struct builder *builder; /* borrowed */
	uint32_t entries;	 /* with the root */
	uint32_t *order;	 /* by entry: the node */
	uint32_t *entry;	 /* by node: the entry */
};

/* Returns 0, -ENOMEM, -EINVAL (a file without bytes, a link to one that was left out) or -EEXIST
 * (two entries of one name). */
int builder_tree_init(struct builder_tree *tree, struct builder *builder, struct err *err);
void builder_tree_release(struct builder_tree *tree);

static inline const struct builder_node *builder_tree_node(const struct builder_tree *tree,
							   uint32_t entry)
{
	return builder_node(tree->builder, tree->order[entry]);
}

/* Fills in the id and everything about the sections except their offsets. *ret_checksum covers
 * everything that the records of the finish are made from. 0 or -ENOMEM. */
int builder_describe(const struct builder_tree *tree, struct format_super *super,
		     uint64_t *ret_checksum);
/* Writes the bytes of a section. The offsets of files and parts are zero until index_locate() finds
 * them in the finished LMDB. */
void builder_fill_section(const struct builder_tree *tree, const struct format_section_ref *ref,
			  enum format_section section, void *out);
