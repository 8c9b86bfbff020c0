/* A tree (pack/foreign/tree.h) for the names of files only, of an archive that is read as a stream:
 * where their bytes lie is not checked. Its files are forgotten once their paths were taken.
 *
 * Not thread-safe. */
#ifndef PACK_FOREIGN_NAME_TREE_H
#define PACK_FOREIGN_NAME_TREE_H

#include "pack/foreign/tree.h"

struct name_tree;

/* `shown` is the archive, for what is said of it. The settings stay the caller's. Returns 0,
 * -ENOMEM, or as foreign_read_named(). */
int name_tree_new(const struct foreign_settings *settings, const char *shown,
		  struct name_tree **ret, struct err *err);
void name_tree_free(struct name_tree *names); /* NULL is fine */

/* What files are added to. */
struct foreign_tree *name_tree_of(struct name_tree *names);
/* Adds the labels of the files, and their folders below `below` (as "a/"), to those that the
 * settings ask for, and forgets the files. Returns 0 or -ENOMEM. */
int name_tree_forget(struct name_tree *names, const char *below);

#endif
