/* What tree.c (adding files), tree_names.c (their paths) and tree_index.c (the sections) share with
 * foreign.c, and with what takes the script's messages. */
#pragma once

#include "base/buf.h"
#include "pack/classes.h"
#include "pack/foreign/tree.h"
#include "pack/index.h"

/* Where the bytes of a file lie. */
enum tree_volume { TREE_SOURCE, TREE_MADE, TREE_UNPACKED, TREE_TEXT, TREE_VOLUMES };

/* A file, folder or link, as it was added. */
struct tree_row {
	uint64_t path; /* in `paths`: below the folder of its class, until tree_classes() */
	uint32_t path_len;
	uint32_t record;
	uint64_t offset; /* in its volume; of a link: in `targets` */
	uint64_t size;
	int64_t mtime;
	uint16_t mode;
	uint8_t kind; /* FORMAT_FILE, FORMAT_DIRECTORY or FORMAT_SYMLINK */
	uint8_t volume : 2;
	uint8_t has_mode : 1;
	uint8_t dropped : 1;
	uint8_t first_name : 1; /* of those that the file has */
	uint32_t links;		/* all names of one file have this number; 0: it has only one */
	uint32_t class;		/* with a label: its place in `found`, plus 1; 0: none */
};

/* A list (base/lines.h): names of classes, or of files. */
struct tree_list {
	struct buf text;
	struct buf items; /* struct foreign_text: within the text */
	const char *name; /* of the file; NULL: there is none */
};

struct foreign_tree {
	struct foreign_source *source;
	struct buf rows; /* struct tree_row */
	struct buf paths;
	struct buf targets;	 /* of links */
	struct buf text;	 /* of files that are in no record */
	struct buf made;	 /* struct virtual_row */
	struct buf members;	 /* the table of base/reader_members.h: rows, */
	struct buf members_text; /* and their text */
	struct notices notes;
	char *prefix;		 /* of made-up names */
	struct reader *unpacked; /* what foreign_watch.unpack() has made, or NULL */
	struct tree_list classes, names;
	struct label_classes found; /* classes with labels */
	uint64_t in_folders;	    /* bytes that their folders take in paths */
	uint32_t most_links;	    /* of all rows */
	uint64_t virtual_end;	    /* of the space of virtual_reader_new() */
	uint64_t page, page_start;  /* where the last page lies in the source, and in that space */
	struct labels_style style;  /* of the folders of classes */
	uint64_t made_up;	    /* files whose names are: pack/made_names.h */
	int64_t most_label;	    /* of all files; -1: none has one */
	uint64_t classed;	    /* files with a class or a label */
	uint64_t only_named;	    /* of these, with a class and no label */
	uint64_t unlabelled;	    /* files with neither */
	uint64_t odd;		    /* files with labels below -1 */
	uint64_t named;		    /* files with a name, or a path */
	uint64_t lacks;		    /* inputs that are left out */
	uint64_t say_next;	    /* nanoseconds: when to say how far it is; 0: not begun */
	uint64_t sniffed;	    /* files that were looked at for their suffix */
	const char *suffix;	    /* that all of these had; NULL: more than one */
};

/* Reads the files of names. Returns 0, or as foreign_read_named(). */
int foreign_tree_init(struct foreign_tree *tree, struct foreign_source *source, struct err *err);
void foreign_tree_release(struct foreign_tree *tree);

static inline struct tree_row *tree_rows(const struct foreign_tree *tree)
{
	return BUF_ITEMS(&tree->rows, struct tree_row);
}

static inline size_t tree_count(const struct foreign_tree *tree)
{
	return BUF_COUNT(&tree->rows, struct tree_row);
}

/* Appends the path that a file gets. As foreign_add(). */
int tree_name(struct foreign_tree *tree, const struct foreign_file *file, struct tree_row *row,
	      struct err *err);
static inline size_t tree_class_count(const struct foreign_tree *tree)
{
	return BUF_COUNT(&tree->classes.items, struct foreign_text);
}

/* Of the list of classes: whether folders have numbers. */
void tree_choose_folders(struct foreign_tree *tree);
/* The item of a list; data NULL: it has none of that number. */
struct foreign_text tree_item(const struct tree_list *list, uint64_t number);

/* A slash sorts before any other character: then the paths below a folder follow it, and siblings
 * are in the order of their names. */
int tree_compare_paths(const char *a, size_t a_len, const char *b, size_t b_len);
/* Once all files are added: sorts them by their paths, puts them into the folders of their classes,
 * with the labels in front where that must be, and as many digits as the greatest needs, and adds
 * the folders of empty classes. Adds all labels and their folders to `ret`. Returns 0, -ENOMEM,
 * -EBADMSG (a name or path is too long), or -EINVAL (too many empty classes). */
int tree_classes(struct foreign_tree *tree, struct labels *ret, struct err *err);

/* Makes the sections of the index, but for the options, where each volume begins at `starts`, and
 * adds its labels. Returns 0, as tree_classes(), -EEXIST (two files of one path, or a file that is
 * a folder as well), -EOVERFLOW or -ENOMEM. */
int tree_index(struct foreign_tree *tree, const uint64_t starts[TREE_VOLUMES], struct index *ret,
	       struct labels *ret_labels, struct err *err);
