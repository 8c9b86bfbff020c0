/* A format that is not ours: how its files are recognised, and where in them the files of the tree
 * lie. An adapter is one file in a folder of this one, with one of these structs, named in
 * formats.c.
 *
 *	probe   a few reads: is it of this format?
 *	scan    one pass: calls foreign_add() for each file of the tree
 *
 * A scan reads names, classes and places, and no image. It trusts nothing: each number is checked
 * before it is used, and nothing is executed. A message names the record and what is wrong with it:
 * "record 17: a pickle with the opcode GLOBAL". */
#pragma once

#include "base/err.h"
#include "pack/foreign/settings.h"
#include "pack/foreign/source.h"
#include "pack/foreign/tree.h"
#include <stdbool.h>

struct foreign_format {
	const char *name; /* as in --schema=NAME; NULL: it cannot be named */
	bool archive;	  /* it may have members that are left out: foreign_settings.watch */
	unsigned takes;	  /* which options say something to it: FOREIGN_TAKES_KEYS and others */
	bool streamed;	  /* a scan reads up to all of it: it has no directory of its images */
	/* Whether the file is of this format: 1, 0, or the error of a read. */
	int (*probe)(struct foreign_source *source);
	/* Returns 0, -EBADMSG (damaged), -EOPNOTSUPP (a variant that is not read), -ENOPKG
	 * (one that a library of Python reads for foldpack create), or what the tree or a read
	 * gave; err has a sentence without the path. */
	int (*scan)(struct foreign_source *source, struct foreign_tree *tree, struct err *err);
};
