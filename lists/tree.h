/* The files below a directory, in the orders in which programs list them. lists/lists.c says which
 * program uses which order. */
#pragma once

#include "lists/lists.h"

#define LISTS_NONE UINT32_MAX /* in place of an entry: a link out of the pack */

struct lists_word {
	const char *text; /* not NUL-ended */
	size_t len;
};

/* A growing array of entries. All zero is empty. */
struct lists_files {
	uint32_t *entries; /* files by inode, or LISTS_NONE */
	size_t count, room;
};
void lists_files_release(struct lists_files *files);

/* Which files, and in which order. tree.c says how they compare. */
enum lists_key {
	LISTS_FLAT,    /* those of the directory, by their names as Python strings */
	LISTS_WALK,    /* like os.walk(): the files of a directory, then what is below */
	LISTS_CLASSES, /* of each subdirectory, by the paths of the directories, then by names */
	LISTS_PATHS,   /* by their paths as Python strings */
	LISTS_PARTS,   /* by the parts of their paths */
	LISTS_NATURAL  /* by their paths in lower case, with runs of digits as numbers */
};

enum lists_keep {
	LISTS_TORCHVISION, /* those with the suffixes in IMG_EXTENSIONS of each library */
	LISTS_TIMM,
	LISTS_SUFFIX,	  /* those that end in the suffix given */
	LISTS_SUFFIX_FOLD /* the same, in lower or upper case */
};

struct lists_order {
	enum lists_key key;
	enum lists_keep keep;
	bool links; /* to directories are followed */
	bool hide;  /* what begins with a dot is left out */
};

/* The suffix of a name: from its last dot on. Empty if there is none; .bashrc has none. */
struct lists_word lists_suffix(struct lists_word name);

/* Whether the order contains files of that name. */
bool lists_keeps(const struct lists_order *order, struct lists_word suffix, struct lists_word name);

/* Appends the files of a directory. Returns 0, -ENOMEM, or -E2BIG (links lead back up, or the tree
 * is too deep for a guess). */
int lists_tree(const struct dataset *dataset, uint32_t directory, const struct lists_order *order,
	       struct lists_word suffix, struct lists_files *files);
