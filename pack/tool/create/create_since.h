/* --since: what of a folder is in its base, an older pack of it. Only the index of the base is
 * read.
 *
 * A file that has the size and the time of the one at its path in the base is taken from there
 * unread; with --since-checksum, if it has the checksums of that one. With --dedup, so is a file
 * that was read and has the checksums of any file of the base. */
#pragma once

#include "pack/tool/create/create.h"

/* Opens the base, if there is one, and says in the options which it is. An exit status. */
int create_since_open(struct create *create);
void create_since_close(struct create *create);
/* NULL: the pack will be no delta. */
struct dataset *create_base(const struct create *create);

/* Whether a file that is not read yet is in the base: 1 (then it was taken), 0 or -errno. */
int create_take_unread(struct create *create, const struct item *item);
/* In any thread: makes the checksums of a file that has been read, if they are compared. */
void create_sum(const struct create *create, struct item *item);
/* Before a file is stored: the same as create_take_unread() by its checksums. A large file is read
 * for it; item->error says whether that failed. */
int create_take_read(struct create *create, struct item *item, struct err *err);
