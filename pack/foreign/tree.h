/* The tree that the records of a foreign file become. Files are added in any order; names that a
 * record does not have are made up here, so that all formats look alike:
 *
 *	CLASS/NAME        class and name as the record has them
 *	0007/00000123.jpg label 7, record 123: the class by its number, the name by that of the
 *	                  record, the suffix by the first bytes
 *	0007_CLASS/NAME   both, where names sort otherwise than labels: so that the number that
 *	                  ImageFolder gives to a folder is its label
 *	images/...        neither class nor label; a line says how many, where others have one
 *
 * --classes FILE gives labels their names, and --names FILE records theirs, with their class where
 * one has a slash. A set of several files keeps its records apart: foreign_tree_prefix().
 *
 * Not thread-safe. */
#pragma once

#include "base/err.h"
#include "base/notices.h"
#include "pack/foreign/source.h"
#include "pack/foreign/text.h"
#include "pack/foreign/virtual.h"
#include "pack/labels.h"
#include <stdbool.h>
#include <sys/types.h>

struct foreign_tree;

/* A compressed page. */
struct foreign_packed {
	uint64_t offset; /* in the source */
	uint64_t size;	 /* unpacked */
	const struct codec_piece *pieces;
	size_t count;
};

/* Bytes of a sparse file, which has holes between them. */
struct foreign_piece {
	uint64_t at;	 /* in the file */
	uint64_t offset; /* in the source */
	uint64_t len;
};

#define FOREIGN_NO_LABEL INT64_MIN

struct foreign_file {
	uint64_t record; /* its number in the file, from 0 on */

	struct foreign_text path;  /* as "a/b.jpg"; then the next four do not count */
	struct foreign_text above; /* of the class, as "train/" */
	struct foreign_text class; /* a folder; a slash in it becomes _: classes that
				      are one folder then are noted */
	bool class_is_path;	   /* or several, as "train/cat" */
	int64_t label;		   /* from 0 on; below 0: none */
	struct foreign_text name;  /* in the folder of the class; without a known suffix, if it has
				      none: see `plain` */
	bool unpacked;		   /* the offset is in what foreign_watch.unpack() has made */
	bool plain;		   /* the name is without suffix, which is added by content */

	uint64_t offset, size;	  /* of its bytes in the source */
	struct foreign_text head; /* the first of them, as many as tell what it is, if they are
				     known; data NULL: they are not */
	bool in_memory;		  /* all of them are: what is so small may be no image */
	const struct foreign_pixels *pixels; /* NULL: the bytes are the file */
	const struct foreign_packed *packed; /* the offset is in this page, unpacked; all files of
						a page come one after the other */
	const struct foreign_piece *pieces;  /* NULL: it has no holes; else in order */
	size_t piece_count;
	const uint32_t *second_name_of; /* the number of a file that was added: it has its bytes,
					   mode and time, and is the same file */

	struct foreign_text target; /* it is a symbolic link */
	bool directory;		    /* it is a folder, by `path`: of which attributes are known */
	mode_t mode;		    /* permission bits, with any type if none is set;
				       0: not known, 0644 or 0755 */
	int64_t mtime;		    /* nanoseconds since 1970 */
};

/* Adds a file: the text is copied. Returns 0; -EBADMSG (its bytes lie outside of the source, its
 * name is none, or its path too long); -EINVAL (the list of --classes has no such label, that of
 * --names no such record); -EOVERFLOW; -ENOMEM; or the error of a read. err names the record. */
int foreign_add(struct foreign_tree *tree, const struct foreign_file *file, struct err *err);
/* Forgets all that was added and noted. Returns 0, -ENOMEM, or the error of reading a list again.
 */
int foreign_tree_restart(struct foreign_tree *tree, struct err *err);

/* Takes a file out again; other names of it keep it. */
void foreign_tree_drop(struct foreign_tree *tree, size_t i);

/* Names the classes from label 0 on, as the file itself has them, unless the user did, or they have
 * names. To be called before files are added. Returns 0 or -ENOMEM. */
int foreign_tree_classes(struct foreign_tree *tree, const struct foreign_text *names, size_t count);

/* The path of the file that was added as number `i`, from 0 on, and has no class with a label;
 * lives until the next is added. */
struct foreign_text foreign_tree_path(const struct foreign_tree *tree, size_t i);

/* Adds a file of these bytes, as "labels.tsv", which are in no record. */
int foreign_add_text(struct foreign_tree *tree, const char *path, const void *bytes, size_t len,
		     struct err *err);

/* Makes made-up names begin with the name of the file, for formats whose sets have many files: for
 * train-00003-of-01024.tfrecord, or train-00003-of-01024, with "train-00003-of-01024-". Returns 0
 * or -ENOMEM. */
int foreign_tree_prefix(struct foreign_tree *tree);

/* Tells the user now and then, in a scan that takes long, how many files there are. */
void foreign_tree_progress(struct foreign_tree *tree, uint64_t count);
/* Notes something for the user: what the format holds and the tree does not, as "{} records without
 * an image are left out". It is told after the scan. */
void foreign_tree_note(struct foreign_tree *tree, const struct notice *note);
