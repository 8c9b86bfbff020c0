/* The index of a foreign file, as a file of its own: what a pack has, without LMDB.
 *
 *	superblock | text | rows | sections, one after the other
 *
 * `text` is the bytes of files that are in no record; `rows` the table of made_reader_new(), as
 * made_encode() writes it.
 *
 * It is kept beside the container, as .NAME.foldfs-index, which no glob finds, or, where that
 * folder cannot be written to, in the disk cache and below $XDG_CACHE_HOME/foldfs/index (~/.cache);
 * where neither can, it is in memory. So it is where nothing tells whether the container is still
 * the same (in_memory: pack/foreign/source.h). It appears under its name when it is whole. One of a
 * container that has changed, or of other settings, is made anew.
 *
 * What it belongs to stands in the section of options, as "name=value\n" lines:
 *
 *	container     size, time of the last write, and a hash of the first and last 64 KiB
 *	scans         number of the scripts' state: SCANS of index_key.c
 *	settings      a hash of what was asked for, with the text of --classes and --names
 *	object        of a URL: a hash of its strong ETag, or else of Last-Modified
 *	published     of one that a publisher made: pack/foreign/index_published.h
 *	format        name of the format
 *	beside        end of the name of a file beside it that was read, and a hash of its bytes
 *	extra         bytes of the text, rows of the table, and a hash of both
 *	checksums     "full": all extents have one, or "none"
 *	folders       what those of classes are called: pack/labels.h
 *	made-up       what names begin with that are: pack/made_names.h
 *	labels        pack/labels.h */
#pragma once

#include "base/err.h"
#include "base/reader.h"
#include "pack/foreign/index_key.h"

#define INDEX_SUMS_NONE "\nchecksums=none\n"
#define INDEX_SUMS_FULL "\nchecksums=full\n" /* as long */

/* Opens the index that belongs to the container, our own or else a publisher's: 0, or -ENOENT where
 * there is none that does. */
int index_file_find(const struct foreign_tree *tree, const struct index_key *key,
		    struct reader **ret);

/* Writes it after a scan, and opens it. Returns 0, or as tree_index(), or -errno. */
int index_file_write(struct foreign_tree *tree, const struct index_key *key, const char *format,
		     struct reader **ret, struct err *err);

/* Writes it again with these rows of checksums. `full`: none is missing. One that is to be
 * published may be in memory alone, and is opened; otherwise *ret is NULL. Returns 0, -EBADMSG (the
 * old index is damaged), or -errno. */
int index_file_add_sums(struct foreign_tree *tree, struct reader *reader, const uint64_t *rows,
			uint64_t count, bool full, struct reader **ret);

/* What is in the file beside the sections. */
struct index_extra {
	bool full;	       /* all extents have checksums */
	uint64_t text;	       /* bytes, from INDEX_TEXT on */
	struct made_row *made; /* on the heap */
	uint64_t made_count;
};

#define INDEX_TEXT FORMAT_SUPER_BYTES

/* Reads and checks it. 0, -EBADMSG, -ENOMEM, or the error of a read. */
int index_extra_read(struct reader *index, struct index_extra *ret);
void index_extra_release(struct index_extra *extra);
/* The hash of the text and the rows in the line `extra`. */
uint64_t index_extra_hash(const void *text, size_t text_len, const void *rows, size_t rows_len);
