/* --since: what of a folder is in its base, an older pack of it. Only the index of the base is
 * read.
 *
 * A file that has the size and the time of the one at its path in the base is taken from there
 * unread; with --since-checksum, if it has the checksums of that one. With --dedup, so is a file
 * that was read and has the checksums of any file of the base. */
#pragma once

#include "pack/tool/create/item.h"
#include "pack/tool/create/options.h"

struct since;

/* Opens the base, if there is one, and says in the options which it is; they must stay. `pack` is
 * the name of the future pack. *ret is NULL where there is none. An exit status. */
int since_open(struct create_options *options, const char *pack, struct since **ret);
/* NULL is fine, also below: then nothing is in the base. */
void since_free(struct since *since);
/* NULL: the pack will be no delta. */
struct dataset *since_base(const struct since *since);

/* Whether a file that is not read yet is in the base: 1 (then it was taken), 0 or -errno. */
int since_take_unread(const struct since *since, struct builder *builder, const struct item *file);
/* In any thread: makes the checksums of a file that has been read, if they are compared. */
void since_sum(const struct since *since, struct create_item *item);
/* Before a file is stored: the same as since_take_unread() by its checksums. A large file is read
 * for it; file.error says whether that failed. */
int since_take_read(const struct since *since, struct import *import, struct builder *builder,
		    struct create_item *item, struct err *err);
