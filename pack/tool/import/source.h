/* One file of the source. It is read straight into the buffer from which it is stored, with one
 * open, one fstat and one read a buffer.
 *
 * What is read must be what the scan saw: a file with another size or time is refused with -ESTALE,
 * so that no pack holds half of an old and half of a new file; and one that has other bytes than
 * its size says with -EOVERFLOW (more) or -ENODATA (fewer), so that none holds a part of it. */
#pragma once

#include "pack/write/builder.h"
#include <sys/stat.h>

struct source {
	int fd;
	struct stat expected; /* its size and time */
	uint64_t done;	      /* bytes read */
	int error;	      /* the first one, -errno; -ESTALE: it has changed */
};

/* Opens a file of a directory; follows a symbolic link only with `follow`. 0 or -errno, also in
 * source->error. */
int source_open(struct source *source, int directory, const char *name,
		const struct builder_entry *expected, bool follow);
void source_close(struct source *source);

/* Fills buf with the next len bytes. It is the read function of a builder_source; `context` is the
 * source. The last read, which may be empty, also checks that the file is unchanged. */
int source_read(void *context, void *buf, size_t len);

/* The sentence for a source's error. */
const char *source_error_text(int error);
