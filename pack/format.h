/* The pack format: record kinds and the superblock. format_keys.h has the keys. man/foldfs-format.5
 * documents the format; these headers and format.c are its only encoder and decoder. Pure: bytes
 * in, structs out, no I/O and no allocation.
 *
 * A pack is an LMDB file (data format 1, MDB_NOSUBDIR) whose main database holds
 *
 *	"\0foldfs"             the superblock
 *	"\0foldfs.NAME"        the sections of the index, one record each
 *	"\0part.HASH.NNNNNNNN" the parts of files over FORMAT_SPLIT_OVER bytes
 *	"\0path.HASH"          a file whose path is longer than a key can be
 *	"n01440764/x.JPEG"     every other file: its path, its bytes
 *
 * HASH is the XXH3-128 of the path as 32 hexadecimal digits. A hard link or alias has its bytes
 * under another path: its value is FORMAT_LINK_MAGIC and that path. Directories and symbolic links
 * are in the index only. */
#pragma once

#include "base/err.h"
#include "base/size.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FORMAT_VERSION	  1
#define FORMAT_KEY_MAX	  511		    /* LMDB's limit for a key, bytes */
#define FORMAT_NAME_MAX	  255		    /* of one path component */
#define FORMAT_DEPTH_MAX  4096		    /* of a directory; the root's is 0 */
#define FORMAT_SPLIT_OVER (1 * GIB)	    /* a longer file is stored in parts */
#define FORMAT_PART	  (64 * MIB)	    /* of this size, the last one shorter */
#define FORMAT_EXTENT	  (1 * MIB)	    /* each of which has its own checksum */
#define FORMAT_LINK_MAGIC "\0foldfs-link\n" /* sizeof - 1 bytes; the path of the bytes follows */

/* Features that a reader must know (incompat) or may ignore (compat). */
#define FORMAT_CONTENT_ID     ((uint64_t)1) /* compat: there is a content id */
#define FORMAT_ALIASES	      ((uint64_t)1) /* incompat: there are entries of FORMAT_ALIAS */
#define FORMAT_UNCHECKED      ((uint64_t)2) /* incompat: a checksum of 0 is none; never in a pack */
#define FORMAT_DELTA	      ((uint64_t)4) /* incompat: the rest of it is in its base: pack/delta.h */
#define FORMAT_INCOMPAT_KNOWN (FORMAT_ALIASES | FORMAT_UNCHECKED | FORMAT_DELTA)

/* What an entry of the index is. On disk: never renumber. */
enum format_kind {
	FORMAT_DIRECTORY = 1, /* start: its first child; size: how many children */
	FORMAT_FILE = 2,      /* start: offset of its bytes in the pack; size: bytes */
	FORMAT_SYMLINK = 3,   /* start: offset in the section targets; size: bytes */
	FORMAT_HARDLINK = 4,  /* start: the entry it is another name of; size: 0 */
	FORMAT_SPLIT = 5,     /* start: its first row in the section parts; size: bytes */
	FORMAT_ALIAS = 6,     /* a file that shares the bytes of another one. start: that
				 FILE or SPLIT; size: bytes */
	FORMAT_BASE = 7,      /* a file of a delta whose bytes are in its base. start: the entry of
				 the base that has them; size: bytes */
};

/* The sections of the index. A blob is bytes; a column has one little-endian integer of
 * `width` bytes (1, 2, 4 or 8) for each entry, unless said otherwise. */
enum format_section {
	SECTION_NAMES,	   /* blob: the names of all entries, end to end */
	SECTION_NAME_END,  /* where each name ends in names */
	SECTION_PARENT,	   /* the directory each entry is in; the root is its own */
	SECTION_KIND,	   /* enum format_kind */
	SECTION_START,	   /* see enum format_kind; always 8 wide */
	SECTION_SIZE,	   /* see enum format_kind */
	SECTION_PARTS,	   /* one row a part of the split files, in entry order: offset in the
			      pack; 8 wide */
	SECTION_TARGETS,   /* blob: the targets of the symbolic links */
	SECTION_CHECKSUMS, /* one row an extent, in entry order: XXH3-64; 8 wide */
	SECTION_MODE,	   /* permission bits, 07777 */
	SECTION_MTIME,	   /* nanoseconds since 1970, two's complement; 8 wide */
	SECTION_IMAGE,	   /* enum format_image; 0 where unknown */
	SECTION_WIDTH,	   /* pixels; 0 where unknown */
	SECTION_HEIGHT,
	SECTION_OPTIONS, /* blob: the creation options, "name=value\n" lines */
	SECTION_COUNT
};

/* Image kinds, by content. On disk: never renumber. */
enum format_image {
	IMAGE_UNKNOWN,
	IMAGE_JPEG,
	IMAGE_PNG,
	IMAGE_GIF,
	IMAGE_WEBP,
	IMAGE_BMP,
	IMAGE_TIFF,
	IMAGE_PNM,
	IMAGE_AVIF,
	IMAGE_JXL,
	IMAGE_KINDS
};

/* The section's name, which is its key without "\0foldfs.". */
const char *format_section_name(enum format_section section);

struct format_section_ref {
	uint64_t offset; /* of its first byte in the pack */
	uint64_t bytes;
	uint64_t count;	   /* rows; 0 for a blob */
	uint32_t width;	   /* bytes a row; 0 for a blob */
	uint64_t checksum; /* XXH3-64 of its bytes */
};

/* The state of the LMDB that the offsets belong to. Tools that rewrite an LMDB (mdb_copy -c,
 * mdb_load) move pages and change this state; then the offsets are looked up again. */
struct format_lmdb_state {
	uint64_t txnid;
	uint64_t root; /* page number of the main database's root */
	uint64_t last_page;
	uint64_t branch_pages, leaf_pages, overflow_pages;
	uint64_t entries;
};

#define FORMAT_ID_BYTES 16
#define FORMAT_ID_TEXT	(2 * FORMAT_ID_BYTES + 1)

/* As hexadecimal digits, NUL-ended. */
void format_id_text(const uint8_t id[FORMAT_ID_BYTES], char ret[static FORMAT_ID_TEXT]);

struct format_super {
	uint32_t version;
	uint64_t compat, incompat;
	uint64_t entries, files, directories, symlinks, hardlinks;
	uint64_t bytes;			     /* of all files, each once, aliases too */
	uint8_t id[FORMAT_ID_BYTES];	     /* of paths, kinds, modes, times and bytes */
	uint8_t content_id[FORMAT_ID_BYTES]; /* of paths and bytes; zero: not recorded */
	uint64_t left_out;		     /* inputs; 0 where it was not recorded */
	struct format_lmdb_state lmdb;
	struct format_section_ref sections[SECTION_COUNT];
};

#define FORMAT_SUPER_BYTES 4096 /* of the superblock's value, the rest zero */

void format_super_encode(const struct format_super *super, uint8_t out[FORMAT_SUPER_BYTES]);

#define FORMAT_RUN_BYTES 16

#define FORMAT_MARK_BYTES 16

/* The superblock of a pack that is not finished: a mark of FORMAT_MARK_BYTES, and the number of the
 * run. */
void format_super_unfinished(const uint8_t run[FORMAT_RUN_BYTES], uint8_t out[FORMAT_SUPER_BYTES]);

/* Returns 0; -EINPROGRESS (an unfinished pack); -EBADMSG (bad magic, checksum or field);
 * -EPROTONOSUPPORT (another version, or incompatible features, which err names). */
int format_super_decode(const uint8_t *data, size_t len, struct format_super *ret, struct err *err);

/* HASH of a path, NUL-ended. */
#define FORMAT_HASH_DIGITS 32
void format_path_hash(const char *path, size_t len, char ret[static FORMAT_HASH_DIGITS + 1]);

/* Whether an entry may have this name: 1 to FORMAT_NAME_MAX bytes, no '/', no NUL, not "." or "..".
 */
bool format_name_valid(const char *name, size_t len);

/* Whether it is a regular file; hard links are further names of one. */
static inline bool format_is_file(enum format_kind kind)
{
	return kind == FORMAT_FILE || kind == FORMAT_SPLIT || kind == FORMAT_ALIAS ||
	       kind == FORMAT_BASE;
}

/* How many extents a file of `size` bytes has; an empty file has none. */
static inline uint64_t format_extents(uint64_t size)
{
	return size / FORMAT_EXTENT + (size % FORMAT_EXTENT != 0);
}

/* How many parts a file of `size` bytes is stored in; 0: it is not split. */
static inline uint64_t format_parts(uint64_t size)
{
	return size > FORMAT_SPLIT_OVER ? (size + FORMAT_PART - 1) / FORMAT_PART : 0;
}
