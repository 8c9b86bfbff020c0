/* Containers that cannot be read in place: those that are compressed as a whole, such as
 * x.tfrecord.gz, and what comes from a pipe, as from a script. While this is in place, such a
 * container is opened from an unnamed file beside the pack, which has all of it, unpacked. */
#pragma once

#include "pack/foreign/settings.h"
#include "pack/tool/create/script.h"

/* All of it stays the caller's. */
struct decompressed {
	const char *pack;
	struct foreign_settings *settings, before;
	int stream; /* the pipe that is opened first, by whatever name; -1: there is none */
	struct script *script; /* writes to the pipe; NULL: none */
	int error;	       /* of the pipe, which ended too early: what came before is read */
	struct err err;
};

/* Replaces settings->open until decompressed_end(). Readers that were opened in between stay valid.
 */
void decompressed_begin(struct decompressed *d, const char *pack,
			struct foreign_settings *settings);
void decompressed_end(struct decompressed *d);

/* As foreign_watch.copy(), beside the pack, if there is room for both. */
int decompressed_copy(const char *pack, struct reader *from, const char *name, struct reader **ret,
		      struct err *err);
/* As foreign_watch.unpack(), beside the pack. */
int decompressed_part(const char *pack, const struct foreign_compressed *from,
		      struct reader **spool, uint64_t *ret_start, uint64_t *ret_len,
		      struct err *err);
