/* The index of a foreign file, as a file of its own: what a pack has, without LMDB.
 *
 *	superblock | text | rows | members | sections, one after the other
 *
 * `text` is the bytes of files that are in no record; `rows` the table of virtual_reader_new(), as
 * virtual_encode() writes it; `members` that of base/reader_members.h.
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
 *	scans         number of the scripts' state: SCANS of index_file.c
 *	settings      a hash of what was asked for, with the text of --classes and --names
 *	object        of a URL: a hash of its strong ETag, or else of Last-Modified
 *	published     of one that a publisher made: pack/foreign/index_published.c
 *	format        name of the format
 *	beside        end of the name of a file beside it that was read, and a hash of its bytes
 *	members       of a folder or a prefix: rows and bytes of text of the table, a hash of both,
 *		      and when it was listed, in seconds; then there is no container, but a state
 *	extra         bytes of the text, rows of the table, and a hash of both
 *	checksums     "full": all extents have one, or "none"
 *	folders       what those of classes are called: pack/labels.h
 *	made-up       what names begin with that are: pack/made_names.h
 *	labels        pack/labels.h */
#pragma once

#include "base/err.h"
#include "base/reader.h"
#include "pack/foreign/tree_internal.h"

/* What an index file belongs to: a container, and what was asked for. */
struct index_key {
	char text[192];	     /* the first lines of its options */
	char published[128]; /* those of an index that a publisher made, but for the next */
	char object[32];     /* the line `object`; "": there is none */
	char copy[128];	     /* what a copy of the container in the disk cache is known by */
};

/* Returns 0, or why the container cannot be read. */
int index_key_make(const struct foreign_tree *tree, struct index_key *ret);

/* The key of members: nothing tells whether they are the same. */
void index_key_of_members(const struct foreign_tree *tree, struct index_key *ret);
/* Appends the line `members`, of the tree's table, which was listed then. 0 or -ENOMEM. */
int index_members_write(const struct foreign_tree *tree, uint64_t listed, struct buf *ret);

/* Opens the index that belongs to the container, our own or else a publisher's: 0, or -ENOENT where
 * there is none that does. */
int index_file_find(const struct foreign_tree *tree, const struct index_key *key,
		    struct reader **ret);

/* Writes it after a scan, and opens it. Returns 0, or as tree_index(), or -errno. */
int index_file_write(struct foreign_tree *tree, const struct index_key *key, const char *format,
		     struct reader **ret, struct err *err);

/* Writes it again with these rows of checksums, and opens it; in memory alone only if it is to be
 * published. `full`: none is missing. Returns 0, -EBADMSG (the old index is damaged), or -errno. */
int index_file_add_sums(const struct foreign_tree *tree, struct reader *reader,
			const uint64_t *rows, uint64_t count, bool full, struct reader **ret);

/* Whether an index of a remote file is kept. */
bool index_file_is_kept(const struct foreign_tree *tree);

/* What is in the file beside the sections. */
struct index_extra {
	bool full;		  /* all extents have checksums */
	uint64_t text;		  /* bytes */
	struct virtual_row *made; /* on the heap */
	uint64_t made_count;
	/* Of members: the table, as base/reader_members.h has it, and when they were listed, in
	 * seconds since 1970; 0: of other files. */
	uint64_t members_offset, members_count, members_text, listed;
};

/* Reads and checks it. 0, -EBADMSG, -ENOMEM, or the error of a read. */
int index_extra_read(struct reader *index, struct index_extra *ret);
void index_extra_release(struct index_extra *extra);

/* Writes what an index that has all checksums becomes where it is published, at once, with these
 * bits of a mode. Returns 0, -EEXIST (what is there is no index), or -errno; err may have a
 * sentence. */
int index_published_write(struct reader *index, const char *path, mode_t mode, struct err *err);
