/* The write face of a pack: entries and bytes in, one finished file out.
 *
 *	builder_new -> builder_add (each entry) -> builder_store (each file's bytes)
 *	            -> builder_finish -> builder_free
 *
 * The pack is written beside its place, as PATH.partial, and takes its name by an atomic
 * rename in builder_finish: until then PATH is untouched. builder_free before that removes
 * the partial file. The same entries, bytes, options and order of calls give the same file,
 * bit for bit. Memory: about 60 bytes an entry plus names, and FORMAT_SPLIT_OVER at most for
 * what is not yet written; batches of 64 MiB are committed as they fill.
 *
 * Not thread-safe: one thread adds and stores. */
#ifndef PACK_BUILDER_H
#define PACK_BUILDER_H

#include "base/err.h"
#include "pack/dataset.h"

struct builder;

struct builder_params {
	const char *path;    /* of the finished pack */
	bool replace;	     /* an existing PATH is replaced; else -EEXIST at once */
	const char *options; /* "name=value\n" lines, kept in the pack; NULL: none */
};

struct builder_entry {
	enum format_kind kind; /* FORMAT_DIRECTORY, _FILE, _SYMLINK or _HARDLINK */
	uint32_t parent;       /* as returned by builder_add; the root is BUILDER_ROOT */
	const char *name;
	size_t name_len;
	mode_t mode; /* permission bits */
	struct timespec mtime;
	const char *target; /* of a symbolic link */
	size_t target_len;
	uint32_t link_to; /* hard link: the file it is another name of */
};

/* Where the bytes of a file come from. `read` fills buf with the next len bytes, all of them,
 * or returns -errno, which builder_store passes on. */
struct builder_source {
	int (*read)(void *context, void *buf, size_t len);
	void *context;
	uint64_t size; /* bytes */
};

struct builder_summary {
	uint64_t files, directories, symlinks, hardlinks;
	uint64_t bytes;	     /* of the files */
	uint64_t pack_bytes; /* size of the pack */
	char id[33];	     /* as dataset_info.id */
};

#define BUILDER_ROOT 0u

/* The version of liblmdb, which writes the packs. */
void builder_library(int *ret_major, int *ret_minor, int *ret_patch);

/* Creates PATH.partial. Returns 0; -EEXIST (PATH exists, or is no regular file); -EBUSY
 * (another foldpack writes it); or what creating the file gave. */
int builder_new(const struct builder_params *params, struct builder **ret, struct err *err);
void builder_free(struct builder *builder); /* NULL is fine */

/* Mode and time of the root directory; 0755 and 1970 where never called. */
void builder_root(struct builder *builder, mode_t mode, struct timespec mtime);

/* Adds an entry. A file has no bytes until builder_store. Names need not come sorted.
 * Returns 0; -EINVAL (a name that no pack can hold); -ENOMEM; -EOVERFLOW (2^32 entries). */
int builder_add(struct builder *builder, const struct builder_entry *entry, uint32_t *ret_id,
		struct err *err);

/* Stores a file's bytes. Fastest, and streams straightest, when files come sorted by path.
 * Returns 0; what source->read gave (nothing of the file is kept then, and the builder goes on
 * to be usable); -ENOSPC; -EIO; -ENOMEM; -EEXIST (two entries with one path). */
int builder_store(struct builder *builder, uint32_t id, const struct builder_source *source,
		  struct err *err);

/* What was found out about an image; IMAGE_UNKNOWN where never called. */
void builder_image(struct builder *builder, uint32_t id, const struct dataset_image *image);

/* Takes a file out again that was added but not stored. */
void builder_drop(struct builder *builder, uint32_t id);

/* Writes the index, syncs, gives the pack its name. Every file must be stored or dropped
 * (-EINVAL otherwise), and no two entries of a directory share a name (-EEXIST).
 * Nothing can be added afterwards. */
int builder_finish(struct builder *builder, struct builder_summary *ret, struct err *err);

#endif
