/* The files below a directory, in the orders in which programs list them. fs/lists.c says which
 * program has which. */
#ifndef FS_LISTS_TREE_H
#define FS_LISTS_TREE_H

#include "fs/lists.h"

#define LISTS_NONE UINT32_MAX /* an entry without a file: a link to outside of the pack */

struct lists_word {
	const char *text; /* not NUL-ended */
	size_t len;
};

/* Entries that grow at their end. All zero is empty. */
struct lists_files {
	uint32_t *entries; /* files by inode, or LISTS_NONE */
	size_t count, room;
};
void lists_files_release(struct lists_files *files);
int lists_files_add(struct lists_files *files, uint32_t entry); /* 0 or -ENOMEM */

/* Which files, and in which order. lists_tree.c says how they compare. */
enum lists_key {
	LISTS_FLAT,    /* those of the directory, by their names as Python strings */
	LISTS_WALK,    /* as os.walk() gives them: those of a directory, then what is below */
	LISTS_CLASSES, /* of each subdirectory, by the paths of the directories, then by names */
	LISTS_PATHS,   /* by their paths as Python strings */
	LISTS_PARTS,   /* by the parts of their paths */
	LISTS_NATURAL  /* by their paths in small letters, runs of digits as numbers */
};

enum lists_keep {
	LISTS_TORCHVISION, /* IMG_EXTENSIONS of each library */
	LISTS_TIMM,
	LISTS_SUFFIX,	  /* those that end in the suffix given */
	LISTS_SUFFIX_FOLD /* the same, in small or large letters */
};

struct lists_order {
	enum lists_key key;
	enum lists_keep keep;
	bool links; /* to directories are followed */
	bool hide;  /* what begins with a dot is left out */
};

/* What a name ends in, from its last dot on; empty where there is none. .bashrc has none. */
struct lists_word lists_suffix(struct lists_word name);

/* Whether the order has files of that name. */
bool lists_keeps(const struct lists_order *order, struct lists_word suffix, struct lists_word name);

/* Appends the files of a directory. Returns 0, -ENOMEM, or -E2BIG: links that lead back up, or a
 * tree too deep for a guess. */
int lists_tree(const struct dataset *dataset, uint32_t directory, const struct lists_order *order,
	       struct lists_word suffix, struct lists_files *files);

/* The inode of an entry, or of what a link leads to. 0, or -errno as below. */
int lists_follow(const struct dataset *dataset, uint32_t entry, uint32_t *ret);

/* The entry at a path from a directory, links followed as far as they stay in the pack: a
 * directory, or a file's inode. 0, -ENOENT, -ENOTDIR or -ELOOP. */
int lists_resolve(const struct dataset *dataset, uint32_t directory, struct lists_word path,
		  uint32_t *ret);

#endif
