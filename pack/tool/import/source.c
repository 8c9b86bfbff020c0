#include "pack/tool/import/source.h"

#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/work/interrupt.h"
#include <fcntl.h>
#include <string.h>

/* Checks for signals between two pieces. */
#define READ_PIECE ((size_t)64 << 20)

static int source_fail(struct source *source, int error)
{
	if (source->error == 0)
		source->error = error;
	return source->error;
}

/* O_NONBLOCK: a named pipe that has taken the file's place must not hang. */
int source_open(struct source *source, int directory, const char *name,
		const struct builder_entry *expected, bool follow)
{
	*source = (struct source){.expected = {.st_mode = S_IFREG,
					       .st_size = (off_t)expected->size,
					       .st_mtim = expected->mtime}};
	source->fd = openat(directory, name,
			    O_RDONLY | O_NONBLOCK | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
	if (source->fd >= 0)
		return 0;
	/* It was no link when it was scanned. */
	return source_fail(source, errno == ELOOP ? -ESTALE : -errno);
}

void source_close(struct source *source)
{
	scope_close(&source->fd);
	source->fd = -1;
}

/* `error`, or -ESTALE: the file has changed. */
static int explain_source(struct source *source, int error)
{
	int r = io_unchanged(source->fd, &source->expected);

	error = r < 0 ? r : error;
	return error < 0 ? source_fail(source, error) : 0;
}

static int read_piece(struct source *source, void *buf, size_t len)
{
	ssize_t n;

	if (interrupt_pending())
		return source_fail(source, -EINTR);
	n = io_read(source->fd, buf, len);
	if (n < 0)
		return source_fail(source, (int)n);
	if ((size_t)n < len)
		return explain_source(source, -ENODATA);
	source->done += len;
	return 0;
}

int source_read(void *context, void *buf, size_t len)
{
	struct source *source = context;
	char *at = buf;
	int r = 0;

	for (size_t piece; r == 0 && len > 0; at += piece, len -= piece) {
		piece = len < READ_PIECE ? len : READ_PIECE;
		r = read_piece(source, at, piece);
	}
	if (r < 0 || source->done != (uint64_t)source->expected.st_size)
		return r;
	return explain_source(source, io_check_end(source->fd, source->done));
}

const char *source_error_text(int error)
{
	switch (error) {
	case -ESTALE:
		return "changed while it was being packed";
	case -ENOENT:
		return "vanished while it was being packed";
	case -EBADMSG:
		return "damaged in the pack: checksum mismatch";
	case -EOVERFLOW:
		return IO_HAS_MORE;
	case -ENODATA:
		return IO_HAS_FEWER;
	default:
		return strerror(-error);
	}
}
