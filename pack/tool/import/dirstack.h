/* Descriptors of the directories of a tree, for work that goes through it in order.
 *
 * Keeps the directories from the root to the current one open, so moving to a sibling opens one
 * directory. No path is ever looked up as a whole. So no path is too long, and symbolic links in a
 * path are refused (-ELOOP or -ENOTDIR) unless they are to be followed. */
#pragma once

#include "pack/write/builder.h"

struct dirstack;

/* The tree: directories have numbers, the root is 0. */
struct dirstack_tree {
	uint32_t (*parent)(const void *context, uint32_t directory);
	void (*name)(const void *context, uint32_t directory, char ret[FORMAT_NAME_MAX + 1]);
	const void *context;
	bool follow; /* symbolic links to directories */
};

/* The tree of the entries of a builder. */
struct dirstack_tree dirstack_tree_of(const struct builder *builder, bool follow);

/* The descriptor of the root and the context of the tree stay the caller's. 0 or -ENOMEM. */
int dirstack_new(const struct dirstack_tree *tree, int root, struct dirstack **ret);
void dirstack_free(struct dirstack *stack);

/* The descriptor of a directory, valid until the next call. 0, -ENOMEM or what openat returned. */
int dirstack_enter(struct dirstack *stack, uint32_t directory, int *ret_fd);
