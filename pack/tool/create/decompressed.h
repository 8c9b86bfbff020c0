/* Containers that cannot be read in place: those that are compressed as a whole, such as
 * x.tfrecord.gz, and what comes from a pipe, as from a script. While this is in place, such a
 * container is opened from an unnamed file beside the pack, which has all of it, unpacked. */
#pragma once

#include "pack/foreign/settings.h"
#include <sys/types.h>

/* A Python script that reads a source with a library of Python, and writes a tar of it into a pipe:
 * python/foldfs/sources/, which says what a script writes where. One that foldpack stops is killed;
 * where foldpack dies, writing to the pipe ends it. */
struct script {
	pid_t process; /* 0: none */
	int tar, said; /* to be read */
};

/* All of it stays the caller's. */
struct decompressed {
	const char *pack;
	struct foreign_settings *settings, before;
	int stream; /* the pipe that is opened first, by whatever name; -1: there is none */
	struct script script; /* writes to the pipe, if it is one */
	int error;	      /* of the pipe, which ended too early: what came before is read */
	struct err err;
};

/* Replaces settings->open until decompressed_end(). Readers that were opened in between stay valid.
 */
void decompressed_begin(struct decompressed *d, const char *pack,
			struct foreign_settings *settings);
/* Begins to read `source` by the script `name`, as "hdf5", which is told the keys in the settings:
 * the next container that is opened is its tar. Returns 0, or -errno; err says the way out where
 * Python or the script is not there. Once the tar was read, what the script said is printed; where
 * it failed, opening it returns why, in its own words: -EBADMSG (the source is damaged, or the
 * library crashes on it), -ENOMSG (it is not what the script reads), -ECANCELED; or -errno. */
int decompressed_script(struct decompressed *d, const char *name, const char *source,
			struct err *err);
/* Ends a script that is still running. */
void decompressed_end(struct decompressed *d);

/* As foreign_watch.copy(), beside the pack, if there is room for both. */
int decompressed_copy(const char *pack, struct reader *from, const char *name, struct reader **ret,
		      struct err *err);
/* As foreign_watch.unpack(), beside the pack. */
int decompressed_part(const char *pack, const struct foreign_compressed *from,
		      struct reader **spool, uint64_t *ret_start, uint64_t *ret_len,
		      struct err *err);
