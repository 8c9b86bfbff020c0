/* An index file as a whole, in memory, to be changed and written anew. */
#pragma once

#include "base/buf.h"
#include "base/reader.h"
#include "pack/format.h"

struct index_whole {
	struct buf bytes;
	struct format_super super; /* not in the bytes until index_whole_seal() */
};

/* Returns 0, -EFBIG (more than `most` bytes), -EBADMSG (damaged), -EPROTONOSUPPORT, -ENOMEM, or
 * the error of a read. `ret` must be released in any case. */
int index_whole_read(struct reader *reader, uint64_t most, struct index_whole *ret);
void index_whole_release(struct index_whole *whole);

/* Where the bytes of a section lie. */
char *index_whole_section(struct index_whole *whole, enum format_section section);
/* Notes that they have changed. */
void index_whole_changed(struct index_whole *whole, enum format_section section);

/* Appends the options, with a NUL. Returns 0 or -ENOMEM. */
int index_whole_options(struct index_whole *whole, struct buf *ret);
/* Puts other options in their place. Returns 0 or -ENOMEM, after which it is not to be used. */
int index_whole_put_options(struct index_whole *whole, const struct buf *options);

/* Writes the superblock into the bytes. */
void index_whole_seal(struct index_whole *whole);

/* Sets the id, by the checksums of the sections. */
void index_make_id(struct format_super *super);
