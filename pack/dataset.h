/* The read face of a pack: its tree, and where each byte of its files lies.
 *
 *	path -> entry -> extents -> (offset, length) in the pack
 *
 * A dataset does not change once it is open, so any number of threads may call it at the same time.
 * It caches no file data: it says where extents are, and checks what was read.
 *
 * Entries are numbered from the root, which is 0. The children of a directory are consecutive and
 * sorted by name (bytes). Directories come in the order of os.walk. Extents are numbered in the
 * order of entries; those of one file are consecutive.
 *
 * A file may be an alias: it shares the bytes of another file, its holder. An alias has its own
 * inode, attributes and extents, so an extent always says which file is meant. Its extents lie
 * where those of its holder lie.
 *
 * Entries and extents that are passed in are below dataset_entries() and dataset_extents(). What is
 * returned by pointer lives as long as the dataset. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "pack/format.h"
#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

struct dataset;
struct reader;

#define DATASET_ROOT 0u

struct dataset_entry {
	enum format_kind kind;
	uint32_t parent;
	uint32_t first_child, children; /* of a directory */
	uint64_t size;	/* bytes: of a file, of the file of a hard link, or of the text of a link */
	uint32_t inode; /* the entry of the inode; differs for hard links only */
	uint32_t holder;  /* the entry that has the bytes; differs for hard links and aliases */
	const char *name; /* not NUL-ended; the root's is empty */
	size_t name_len;
};

struct dataset_attr {
	mode_t mode; /* permission bits only */
	uint32_t nlink;
	struct timespec mtime;
};

struct dataset_image {
	enum format_image kind;
	uint32_t width, height; /* pixels; 0: unknown */
};

struct dataset_extent {
	uint64_t offset;	 /* in the pack, bytes */
	uint32_t size;		 /* bytes, 1..FORMAT_EXTENT */
	uint32_t entry;		 /* the file */
	uint64_t from;		 /* its first byte within the file */
	uint64_t file, file_end; /* the numbers of the file's extents: [file, file_end) */
};

struct dataset_info {
	const struct format_super *super;
	char id[FORMAT_ID_TEXT];
	uint64_t pack_bytes; /* size of the pack file */
	bool relocated;	     /* another LMDB tool rewrote the file: offsets were looked up again */
	const char *options; /* creation options, "name=value\n" lines */
	size_t options_len;
	const char *labels; /* pack/labels.h: the value of their last line, which is not in these */
	size_t labels_len;
};

/* Opens the pack at path read-only, loads the hot sections and checks them. Returns 0; -EINVAL (not
 * an LMDB file); -ENOMSG (an LMDB file, but not a pack); -EINPROGRESS (a pack that is being
 * written, or whose writing was interrupted); -EPROTONOSUPPORT (another version); -EBADMSG
 * (damaged); or what open and read returned. err has the sentence. */
int dataset_open(const char *path, struct dataset **ret, struct err *err);
/* What the user can do about an error, to append to its sentence: "; ...", or "". */
const char *dataset_way_out(int error);
void dataset_free(struct dataset *dataset);

const struct dataset_info *dataset_info(const struct dataset *dataset);
struct reader *dataset_reader(const struct dataset *dataset); /* stays the dataset's */
/* The name of the pack that an extent is in, where there are several; else NULL. */
const char *dataset_pack_name(const struct dataset *dataset, uint64_t extent);
uint32_t dataset_entries(const struct dataset *dataset);

/* 0, or -ESTALE once the file that holds an extent was written to; as far as storage can be asked,
 * else 0: the read that follows fails, too. Costs one fstat, which may wait. */
int dataset_unchanged(struct dataset *dataset, uint64_t extent);

struct dataset_entry dataset_entry(const struct dataset *dataset, uint32_t entry);

/* What a listing shows of an entry: faster than dataset_entry(). */
struct dataset_child {
	enum format_kind kind;
	uint32_t inode;
	const char *name; /* not NUL-ended */
	size_t name_len;
};
struct dataset_child dataset_child(const struct dataset *dataset, uint32_t entry);

/* The child of a directory by name: 0, -ENOENT, or -ENOTDIR. */
int dataset_lookup(const struct dataset *dataset, uint32_t directory, const char *name, size_t len,
		   uint32_t *ret);

/* The entry at a path relative to the root; "" is the root itself. Slashes at either end and
 * doubled slashes are ignored. Symbolic links are not followed. 0, -ENOENT or -ENOTDIR. */
int dataset_find(const struct dataset *dataset, const char *path, size_t len, uint32_t *ret);

/* Appends an entry's path from the root, with a NUL that buf->len does not count. 0 or -ENOMEM. */
int dataset_path(const struct dataset *dataset, uint32_t entry, struct buf *path);

/* Parts of the index that dataset_open() does not load: for dataset_attr(); for dataset_image();
 * for dataset_check(), dataset_checksum() and dataset_read(). */
enum dataset_part { DATASET_ATTRS = 1, DATASET_IMAGES = 2, DATASET_CHECKSUMS = 4 };

/* Loads parts in advance, so that those calls cannot fail. 0, -EBADMSG, -EIO or -ENOMEM. */
int dataset_load(struct dataset *dataset, unsigned parts, struct err *err);
/* Mode, link count and time; kind and size. 0, or as dataset_load(). */
int dataset_attr(struct dataset *dataset, uint32_t entry, struct dataset_attr *ret);
/* What is in a file of another format is of the kind of its name. As dataset_load(). */
int dataset_image(struct dataset *dataset, uint32_t entry, struct dataset_image *ret);

bool dataset_is_unchecked(const struct dataset *dataset); /* some files may have no checksum */
uint64_t dataset_left_out(const struct dataset *dataset); /* of other formats: lacking inputs */
bool dataset_is_delta(const struct dataset *dataset);	  /* pack/delta.h */
bool dataset_lacks_base(const struct dataset *dataset);	  /* a delta that is not on its base */

/* The content id. A pack that was made before packs recorded it gets it from the index. As
 * dataset_load(); -ENODATA where files have no checksums. */
int dataset_content_id(struct dataset *dataset, char ret[static FORMAT_ID_TEXT]);
/* The id that one pack of all of it has: its own, unless it was merged. Same rules. */
int dataset_whole_id(struct dataset *dataset, char ret[static FORMAT_ID_TEXT]);

/* The target of a symbolic link (not NUL-ended); entry is one. */
const char *dataset_target(const struct dataset *dataset, uint32_t entry, size_t *ret_len);

uint64_t dataset_extents(const struct dataset *dataset);
/* The number of the first extent of a file, or of a hard link to one. Its other extents follow. */
uint64_t dataset_first_extent(const struct dataset *dataset, uint32_t entry);
struct dataset_extent dataset_extent(const struct dataset *dataset, uint64_t extent);

/* A hash of the suffix of a file name, from the last dot on; 0 where it has none, as .bashrc. */
uint64_t dataset_suffix(const struct dataset *dataset, uint32_t entry);

/* Compares an extent with its checksum, if it has one. The pieces add up to its size. Returns 0,
 * -EBADMSG, or as dataset_load(). */
int dataset_check(struct dataset *dataset, uint64_t extent, const struct iovec *iov, int count);

/* The XXH3-64 of an extent, from the index. 0, -ENODATA (it has none), or as dataset_load(). */
int dataset_checksum(struct dataset *dataset, uint64_t extent, uint64_t *ret);

/* Reads `len` bytes of a file at `from`, and checks every extent that it touches. Returns how many
 * bytes were read (fewer only at the end of the file), -EBADMSG or -EIO. */
ssize_t dataset_read(struct dataset *dataset, uint32_t entry, void *buf, size_t len, uint64_t from);

/* Damage that verifying found. */
#define DAMAGE_UNREADABLE "unreadable" /* the class of what cannot be read, and may be whole */
struct dataset_fault {
	const char *damage; /* its class, a fixed word */
	const char *text;   /* a sentence */
	const char *path;   /* of a file, or a key of the LMDB; not NUL-ended */
	size_t len;
	uint32_t entry; /* the file; DATASET_ROOT where it is not of a file */
};
/* Called once for each fault; returns 0 to go on, or -errno, which becomes the result. */
typedef int dataset_fault_fn(void *context, const struct dataset_fault *fault);

/* Loads all sections; compares the index with the superblock's counts and content id. A fault has
 * the key of the section or superblock as its path, "index" or DAMAGE_UNREADABLE. 0 or -ENOMEM. */
int dataset_check_sections(struct dataset *dataset, dataset_fault_fn *found, void *context);

/* Compares the keys of the LMDB with the index. Every file must have its record, with the offset
 * and size of the index, and every record must belong to the index. Faults come in the order of
 * keys. The damage is "no-record", "wrong-size", "wrong-place", "wrong-link" or "unknown-record".
 * Returns 0 (whatever was found), -EBADMSG where the pages cannot be walked, or an I/O error. */
int dataset_check_keys(struct dataset *dataset, dataset_fault_fn *found, void *context,
		       struct err *err);
