/* What the files of index_file.h share: the places where an index is kept, and the index as a
 * whole, in memory, to be changed and written anew. */
#pragma once

#include "pack/foreign/index_file.h"

#define INDEX_TEXT	FORMAT_SUPER_BYTES /* where the text begins */
#define INDEX_SUMS_NONE "\nchecksums=none\n"
#define INDEX_SUMS_FULL "\nchecksums=full\n" /* as long */

/* --- places ----------------------------------------------------------------------------------- */

enum index_place {
	INDEX_BESIDE,
	INDEX_IN_DISK_CACHE,
	INDEX_CACHED,
	INDEX_PLACES,			/* of our own */
	INDEX_PUBLISHED = INDEX_PLACES, /* where a publisher lays one; may be a URL */
};

/* Appends the name, with a NUL. Returns 0, -ENOENT where there is no such place, or -ENOMEM. */
int index_place_name(const struct foreign_tree *tree, enum index_place place, struct buf *ret);
/* Whether the index that is there may be believed: root's, the caller's, or of the owner of the
 * container; beside the container, anybody's, but in a folder with the sticky bit only of the owner
 * of the folder, too. */
bool index_place_is_trusted(const struct foreign_tree *tree, enum index_place place,
			    const char *name, struct reader *index);
/* Writes these bytes, one part after the other, to the places that take them, or, `in_memory`,
 * where none does, into memory, and opens what is there. It appears under its name when it is
 * whole. Returns 0 or -errno. */
int index_place_keep(const struct foreign_tree *tree, const struct iovec *parts, int count,
		     bool in_memory, struct reader **ret);

/* --- the index as a whole --------------------------------------------------------------------- */

/* Appends the options of an index, with a NUL. As index_whole_read(). */
int index_options_read(struct reader *reader, struct buf *ret);

/* What may be changed of it: the checksums, and the options. */
struct index_whole {
	struct buf bytes;
	struct buf options;	   /* ended by NUL; these and */
	struct format_super super; /* this are not in the bytes until index_whole_seal() */
	uint8_t *sums;		   /* in the bytes, 8 each */
	uint64_t sum_count;
};

/* Returns 0, -EFBIG (more than `most` bytes), -EBADMSG (damaged), -EPROTONOSUPPORT, -ENOMEM, or
 * the error of a read. `ret` must be released in any case. */
int index_whole_read(struct reader *reader, uint64_t most, struct index_whole *ret);
void index_whole_release(struct index_whole *whole);
/* Puts all into the bytes, which `ret` gets. Returns 0 or -ENOMEM. */
int index_whole_seal(struct index_whole *whole, struct iovec *ret);

/* Sets the id, by the checksums of the sections. */
void index_make_id(struct format_super *super);
/* The hash of the text and the rows in the line `extra`. */
uint64_t index_extra_hash(const struct buf *text, const struct buf *rows);
