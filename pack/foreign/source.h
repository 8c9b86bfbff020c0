/* A file of another format: any bytes of it, through a window that makes small reads cheap,
 * and, of an LMDB, its records.
 *
 * Not thread-safe. What is returned lives until the next call, of foreign_add() as well. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/reader.h"
#include "pack/foreign/settings.h"
#include "pack/foreign/window.h"
#include "pack/walker.h"

struct foreign_source {
	struct reader *reader;
	struct reader_identity opened; /* as foreign_source_init() found it */
	char *path;		       /* absolute, without links; or a URL, without its query */
	char *query;		       /* of the URL, with its '?'; or "" */
	const char *place;	       /* of the reader; NULL: not known */
	char *shown;   /* as the user named it, without what is secret: for messages */
	uint64_t size; /* bytes */
	const struct foreign_settings *settings;
	struct walker *walker; /* of an LMDB; NULL: it is none */

	struct buf beside;    /* lines "beside=END HASH" of what foreign_read_beside() has read */
	struct window window; /* source.c's */
	bool decompressed;    /* `reader` is of what the file was compressed from */
	bool kept;	      /* the disk cache keeps what the scan reads: foreign.c's */
	bool in_memory;	      /* its index: no file is the container, or nothing tells whether the
			       * next one at its URL is another */
};

/* The reader stays the caller's. `decompressed`: it is not of the file of this name, but of what
 * that is compressed from. Returns 0, or why it cannot tell its size, or as walker_new(), but for
 * what is no LMDB. */
int foreign_source_init(struct foreign_source *source, struct reader *reader, const char *path,
			bool decompressed, const struct foreign_settings *settings,
			struct err *err);
void foreign_source_release(struct foreign_source *source);
/* Goes on with a copy of the file: as foreign_source_init(). */
int foreign_source_move(struct foreign_source *source, struct reader *copy);

/* What to say of a walk, or a scan, that failed: -EOPNOTSUPP where it came upon a database in the
 * LMDB; otherwise `result`. */
int foreign_check_named(const struct foreign_source *source, int result, struct err *err);

/* Returns -ESTALE if the file was written to since foreign_source_init(): some of what was read may
 * be of an older file than the rest. Otherwise, or where it cannot be told, `result`. */
int foreign_check_unchanged(const struct foreign_source *source, int result, struct err *err);

#define FOREIGN_MOST ((size_t)64 << 20) /* that foreign_get() reads at once */

/* The bytes [offset, offset + len). Returns 0; -EBADMSG where the file ends before, or len is over
 * FOREIGN_MOST: err says "truncated"; or the error of the read. */
int foreign_get(struct foreign_source *source, uint64_t offset, size_t len, const uint8_t **ret,
		struct err *err);
/* As many of them as there are: for looking at what may be short. Sets *ret_len; *ret is never
 * NULL. */
int foreign_peek(struct foreign_source *source, uint64_t offset, size_t len, const uint8_t **ret,
		 size_t *ret_len);

/* Whether it is the disk cache's copy of a URL whose server does not answer. */
bool foreign_is_lone(const struct foreign_source *source);

/* Says what is noted of a file, or leaves it to whoever says that of all files. */
void foreign_say_notes(const struct foreign_settings *settings, struct notices *notes);
/* A note without counts. */
void foreign_say(const struct foreign_settings *settings, const char *shown, const char *text);

/* Appends the whole text of another file: one that the user named, or one beside the source:
 * "/NAME" in its folder; any other end behind the name of the source without its last suffix, as
 * "_images_idx.txt" for train.lmdb. Returns 0, -ENOENT, -EFBIG, or what opening and reading gave;
 * err begins with its name. */
int foreign_read_named(struct foreign_source *source, const char *name, struct buf *ret,
		       struct err *err);
int foreign_read_beside(struct foreign_source *source, const char *end, struct buf *ret,
			struct err *err);
/* Whether the files beside the source are as they were when these lines were written. */
bool foreign_beside_is(struct foreign_source *source, const char *lines);
