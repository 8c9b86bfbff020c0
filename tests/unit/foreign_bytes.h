/* A foreign file of some bytes, for parsers: it is no LMDB, whatever they are. */
#pragma once

#include "base/io.h"
#include "base/reader_file.h"
#include "pack/foreign/source.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct foreign_bytes {
	int fd;
	struct reader *reader;
	struct foreign_settings settings;
	struct foreign_source source;
};

static inline void foreign_bytes_init(struct foreign_bytes *bytes, const void *data, size_t len)
{
	*bytes = (struct foreign_bytes){.fd = memfd_create("foreign", MFD_CLOEXEC)};
	if (bytes->fd < 0 || io_pwrite_full(bytes->fd, data, len, 0) < 0 ||
	    reader_file_borrow(bytes->fd, &bytes->reader) < 0)
		abort();
	bytes->source = (struct foreign_source){.reader = bytes->reader,
						.path = strdup("bytes"),
						.shown = strdup("bytes"),
						.size = len,
						.settings = &bytes->settings};
	if (!bytes->source.path || window_init(&bytes->source.window, bytes->reader) < 0)
		abort();
}

static inline void foreign_bytes_release(struct foreign_bytes *bytes)
{
	foreign_source_release(&bytes->source);
	reader_free(bytes->reader);
	close(bytes->fd);
}
