/* The write face of a pack: entries and bytes go in, one finished file comes out.
 *
 *	builder_new -> builder_add (each entry) -> builder_store (the bytes of each file), or
 *	                  builder_alias (equal bytes, once), or builder_refer (what the base has)
 *	            -> builder_finish -> builder_free
 *
 * The pack is written beside its place, as PATH.partial, and gets its name by an atomic rename in
 * builder_finish(). PATH is untouched until then. The same entries, bytes, options and order of
 * calls give the same file, bit for bit. Memory: 48 bytes an entry plus names; 8 an extent of files
 * over 1 MiB; in the finish 8 an entry and the names once more; and at most FORMAT_SPLIT_OVER for
 * what is not written yet. Batches of 64 MiB are committed as they fill.
 *
 * Each batch is synced while the next one fills, and recorded in PATH.partial.journal (journal.h).
 * Once the first batch is recorded, an interrupted pack can be resumed, whatever interrupted it,
 * and builder_free() leaves both files. Before that it removes the partial file. A resumed run
 * makes the same calls, but asks before it stores a file:
 *
 *	builder_new (resume) -> builder_add -> builder_resumed (each file, in the order of
 *	            storing): was it stored? else builder_store -> builder_finish -> builder_free
 *
 * If the source is the same, this gives the file that the first run would have given, bit for bit.
 * Where files that were packed have changed since, their fingerprints show it (-ESTALE). The others
 * are packed as they are now.
 * Not thread-safe: one thread adds and stores. */
#pragma once

#include "base/err.h"
#include "pack/dataset.h"
#include "pack/pack_entry.h"

struct builder;

struct builder_params {
	const char *path;     /* of the finished pack */
	bool replace;	      /* an existing PATH is replaced; else -EEXIST at once */
	bool resume;	      /* resume what an interrupted run left, if anything */
	const char *options;  /* "name=value\n" lines, kept in the pack; NULL: none */
	uint64_t batch;	      /* bytes of a batch; 0: 64 MiB. Only tests set it */
	struct dataset *base; /* a delta of it (pack/delta.h); the caller's. NULL: none */
};

/* Where the bytes of a file come from. `read` fills buf with the next len bytes, all of them, or
 * returns -errno, which builder_store() returns. */
struct builder_source {
	int (*read)(void *context, void *buf, size_t len);
	void *context;
	uint64_t size; /* bytes */
};

/* What the journal knows of a file that an interrupted run stored or left out. */
struct builder_past {
	bool dropped, stored; /* neither: it has the bytes of another file */
	const char *note;     /* of builder_mark(), not NUL-ended; lives until the next call */
	size_t note_len;
};

/* How far an interrupted pack has got. */
struct builder_kept {
	uint64_t files; /* stored or dropped */
	uint64_t bytes; /* of those stored */
};

struct builder_summary {
	uint64_t files, directories, symlinks, hardlinks, bytes; /* bytes of the files */
	uint64_t aliases, alias_bytes; /* aliases among these files, and their bytes */
	uint64_t based, based_bytes;   /* the same of those whose bytes are in the base */
	uint64_t pack_bytes;	       /* size of the pack */
	int no_mode, no_sync;	       /* why the filesystem refused it; 0: it did not */
	char id[FORMAT_ID_TEXT], content_id[FORMAT_ID_TEXT];
};

/* Creates PATH.partial, or resumes it (params->resume). Returns 0; -EEXIST (PATH exists, or is not
 * a regular file, or PATH.partial is not from a builder); -EBUSY (another foldpack is writing it);
 * -EINPROGRESS (an interrupted pack exists, and neither `resume` nor `replace` is set); -EINVAL
 * (resume: begun with other options, err says which); -EPROTONOSUPPORT (begun by another version);
 * or what making the file returned. */
int builder_new(const struct builder_params *params, struct builder **ret, struct err *err);
/* Whether builder_new() would refuse what is there now, and why; begins nothing. Of options, which
 * may be NULL, only what the interrupted pack was begun without is refused. */
int builder_check(const struct builder_params *params, struct err *err);
/* A builder without a file: entries can be added and read, nothing else. 0 or -ENOMEM. */
int builder_new_entries(struct builder **ret);
/* Frees it, and removes a partial file that cannot be resumed. NULL is fine. */
void builder_free(struct builder *builder);
/* Removes such a file at once, to free space on the disk. Entries can still be read. */
void builder_discard(struct builder *builder);
/* It cannot be resumed from now on: what was stored, also by an earlier run, is out of date. */
void builder_spoil(struct builder *builder);

/* Whether the pack could be resumed if the run ended now, and from where. Right after builder_new()
 * that is what an earlier run left. Waits for the batch that is being synced. */
bool builder_kept(struct builder *builder, struct builder_kept *ret);
/* Removes the journal that a run killed right after its rename left beside the finished pack. */
void builder_tidy(const char *path);

/* Adds lines to the options, which a resumed run need not know at its begin. 0 or -ENOMEM. */
int builder_add_options(struct builder *builder, const char *lines);
/* Sets the mode and time of a directory. The root's are 0755 and 1970 at first. */
void builder_attr(struct builder *builder, uint32_t id, mode_t mode, struct timespec mtime);

/* Adds an entry. A file has no bytes until builder_store. Names need not come sorted. Returns 0;
 * -EINVAL (a name that no pack can hold); -ENOMEM; -EOVERFLOW (268,434,942 entries, or 2 GiB of
 * names or of targets). */
int builder_add(struct builder *builder, const struct pack_entry *entry, uint32_t *ret_id,
		struct err *err);

/* Whether the next file was stored or dropped before the interruption. Returns 1: it was, and the
 * builder knows again what it knew then; 0: neither this file nor any later one was; -ESTALE:
 * another file was, or this one has changed since (err names it); -EBADMSG, -EIO or -ENOMEM. */
int builder_resumed(struct builder *builder, uint32_t id, uint64_t fingerprint,
		    struct builder_past *ret, struct err *err);

/* Sets what the journal says of the next file that is stored or dropped: a fingerprint of its path,
 * size, time and mode, by which builder_resumed() recognises it; and a note of the caller, of which
 * 65535 bytes are kept. Returns 0 or -ENOMEM. */
int builder_mark(struct builder *builder, uint64_t fingerprint, const char *note, size_t note_len);

/* Stores the bytes of a file. Fastest when files come sorted by path. Returns 0; what source->read
 * returned (then nothing of the file is kept); -ENOSPC; -EIO; -ENOMEM; -EEXIST (another entry has
 * this path); -ESTALE (parts stored before the interruption differ from what is read now). */
int builder_store(struct builder *builder, uint32_t id, const struct builder_source *source,
		  struct err *err);

/* Reads a stored file back and says whether it has these bytes. False for files over
 * FORMAT_SPLIT_OVER bytes. Returns 0; -EIO; -ENOMEM; -EINVAL (not a stored file). */
int builder_same(const struct builder *builder, uint32_t id, const void *data, uint64_t len,
		 bool *ret);

/* Instead of builder_store(): the file shares the bytes of `to`, a stored file with equal bytes,
 * and what is known of them as an image. Only a reference is written. Returns 0; -EINVAL (`to` is
 * an alias, or not stored yet); or as builder_store(). */
int builder_alias(struct builder *builder, uint32_t id, uint32_t to, struct err *err);
/* The same for an entry of the base. A resumed run knows it of files that were `read`, and says it
 * again of others, before it asks builder_resumed(). As builder_store(), or dataset_load(). */
int builder_refer(struct builder *builder, uint32_t id, uint32_t entry, bool read, struct err *err);

/* Sets what was found out about an image; without this it is IMAGE_UNKNOWN. Call it before
 * builder_store() or right after it. */
void builder_image(struct builder *builder, uint32_t id, const struct dataset_image *image);

/* How many were added so far, with the root: they are numbered from 0 on, each behind its folder.
 */
uint32_t builder_entries(const struct builder *builder);
/* An entry without its name, as it was added; until it is stored or dropped. */
struct pack_entry builder_entry(const struct builder *builder, uint32_t id);
/* The kind of an entry (a file may have become FORMAT_SPLIT, _ALIAS or _BASE); its directory; and
 * its file, which for a hard link is another entry. */
enum format_kind builder_kind(const struct builder *builder, uint32_t id);
uint32_t builder_parent(const struct builder *builder, uint32_t id);
uint32_t builder_file(const struct builder *builder, uint32_t id);

/* Removes an entry: a file that was not stored, or a link. 0 or -ENOMEM. */
int builder_drop(struct builder *builder, uint32_t id);
bool builder_is_dropped(const struct builder *builder, uint32_t id);

/* Calls `found` for each directory without a file below it, unless it is inside another such
 * directory; `dropped`: it had some. The root may be one. 0, -ENOMEM, or what `found` returned to
 * stop. */
int builder_find_empty(const struct builder *builder,
		       int (*found)(void *context, uint32_t id, bool dropped), void *context);

/* The name of an entry, NUL-ended. Any thread may ask once all entries are added. */
void builder_name(const struct builder *builder, uint32_t id, char ret[FORMAT_NAME_MAX + 1]);
/* Sets path to that of an entry, NUL-ended. 0 or -ENOMEM. */
int builder_path(const struct builder *builder, uint32_t id, struct buf *path);

/* Writes the index and the number of inputs left out, syncs, and gives the pack its name. Every
 * file must be stored or dropped (else -EINVAL), and no two names in a directory equal (-EEXIST).
 * -ESTALE: a run before wrote another index, or files are missing. Nothing can be added then. */
int builder_finish(struct builder *builder, uint64_t left_out, struct builder_summary *ret,
		   struct err *err);
