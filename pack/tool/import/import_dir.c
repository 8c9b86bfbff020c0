#include "pack/tool/import/import_dir.h"

#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/import/dirstack.h"
#include "pack/tool/work/interrupt.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Checks for signals between two pieces. */
#define READ_PIECE ((size_t)64 << 20)

/* One file. It is read straight into the buffer from which it is stored, with one open, one fstat
 * and one read a buffer.
 *
 * What is read must be what the scan saw: a file with another size or time is refused with -ESTALE,
 * so that no pack holds half of an old and half of a new file; and one that has other bytes than
 * its size says with -EOVERFLOW (more) or -ENODATA (fewer), so that none holds a part of it. */
struct source {
	int fd;
	struct stat expected; /* its size and time */
	uint64_t done;	      /* bytes read */
	int error;	      /* the first one, -errno; -ESTALE: it has changed */
};

struct import_dir {
	struct import import; /* first */
	struct import_dir_params params;
	struct dirstack **stacks; /* one for each worker, and the last for large files */
	uint32_t *sequence;	  /* the files that are handed out */
	uint64_t at, end;	  /* in sequence */
	struct source large;
};

static struct import_dir *dir_of(struct import *import)
{
	return (struct import_dir *)(void *)import;
}

/* --- a file ----------------------------------------------------------------------------------- */

static int source_fail(struct source *source, int error)
{
	if (source->error == 0)
		source->error = error;
	return source->error;
}

static int source_open(struct import_dir *dir, struct dirstack *stack, const struct item *item,
		       struct source *source)
{
	const char *slash = strrchr(item->path.data, '/');
	struct pack_entry entry = builder_entry(dir->params.builder, item->id);
	int follow = dir->params.scan.follow ? 0 : O_NOFOLLOW, directory;
	int r = dirstack_enter(stack, entry.parent, &directory);

	*source = (struct source){.fd = -1,
				  .expected = {.st_mode = S_IFREG,
					       .st_size = (off_t)entry.size,
					       .st_mtim = entry.mtime}};
	if (r < 0)
		return source_fail(source, r);
	/* O_NONBLOCK: a named pipe that has taken the file's place must not hang. */
	source->fd = openat(directory, slash ? slash + 1 : item->path.data,
			    O_RDONLY | O_NONBLOCK | O_CLOEXEC | follow);
	if (source->fd >= 0)
		return 0;
	/* It was no link when it was scanned. */
	return source_fail(source, errno == ELOOP ? -ESTALE : -errno);
}

static void source_close(struct source *source)
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

/* Of a builder_source. The last read, which may be empty, also checks that the file is unchanged.
 */
static int source_read(void *context, void *buf, size_t len)
{
	struct source *source = context;

	for (size_t piece; len > 0; buf = (char *)buf + piece, len -= piece) {
		ssize_t n;

		if (interrupt_pending())
			return source_fail(source, -EINTR);
		piece = len < READ_PIECE ? len : READ_PIECE;
		n = io_read(source->fd, buf, piece);
		if (n < 0)
			return source_fail(source, (int)n);
		if ((size_t)n < piece)
			return explain_source(source, -ENODATA);
		source->done += piece;
	}
	return source->done == (uint64_t)source->expected.st_size
		       ? explain_source(source, io_check_end(source->fd, source->done))
		       : 0;
}

static void dir_read(struct import *import, unsigned worker, struct item *item)
{
	struct import_dir *dir = dir_of(import);
	struct source source;
	int r = source_open(dir, dir->stacks[worker], item, &source);

	if (r == 0)
		r = buf_reserve(&item->bytes, item->size);
	if (r == 0)
		r = source_read(&source, item->bytes.data, item->size);
	if (r == 0)
		item->bytes.len = item->size;
	item->error = r;
	source_close(&source);
}

static int dir_open(struct import *import, struct item *item, struct builder_source *ret)
{
	struct import_dir *dir = dir_of(import);

	item->error = source_open(dir, dir->stacks[dir->params.scan.jobs], item, &dir->large);
	*ret = (struct builder_source){
		.read = source_read, .context = &dir->large, .size = item->size};
	return item->error;
}

static void dir_close(struct import *import, struct item *item)
{
	struct import_dir *dir = dir_of(import);

	item->error = dir->large.error;
	source_close(&dir->large);
}

/* --- all of them ------------------------------------------------------------------------------ */

static int dir_next(struct import *import, struct item *item)
{
	struct import_dir *dir = dir_of(import);
	struct pack_entry entry;

	if (dir->at == dir->end)
		return 1;
	item->id = dir->sequence[dir->at++];
	entry = builder_entry(dir->params.builder, item->id);
	item->size = entry.size;
	if (builder_path(dir->params.builder, item->id, &item->path) < 0)
		return -ENOMEM;
	item->fingerprint = import_fingerprint(&item->path, entry.size, entry.mtime, entry.mode);
	return 0;
}

static void dir_free(struct import *import)
{
	struct import_dir *dir = dir_of(import);

	for (unsigned i = 0; dir->stacks && i <= dir->params.scan.jobs; i++)
		dirstack_free(dir->stacks[i]);
	free(dir->stacks);
	free(dir->sequence);
	free(dir);
}

static const struct import_ops dir_ops = {
	.next = dir_next,
	.read = dir_read,
	.open = dir_open,
	.close = dir_close,
	.free = dir_free,
};

static int scan_folder(struct import_dir *dir, struct err *err)
{
	const struct import_dir_params *params = &dir->params;
	struct scan_counts counts;
	int r = params->slices ? slices_add(params->slices, params->slice, params->builder, &counts,
					    &dir->sequence, err)
			       : order_scan(&params->scan, params->order, params->builder, &counts,
					    &dir->sequence, err);

	if (r < 0)
		return r;
	dir->import.files = dir->end = counts.files;
	dir->import.bytes = counts.bytes;
	return 0;
}

int import_dir_new(const struct import_dir_params *params, struct import **ret, struct err *err)
{
	struct import_dir *dir = calloc(1, sizeof(*dir));
	const struct dirstack_tree tree = dirstack_tree_of(params->builder, params->scan.follow);
	int r;

	if (!dir)
		return -ENOMEM;
	dir->import.ops = &dir_ops;
	dir->params = *params;
	dir->large.fd = -1;
	r = scan_folder(dir, err);
	dir->stacks = calloc(params->scan.jobs + 1, sizeof(struct dirstack *));
	if (!dir->stacks)
		r = -ENOMEM;
	for (unsigned i = 0; r == 0 && i <= params->scan.jobs; i++)
		r = dirstack_new(&tree, params->scan.root, &dir->stacks[i]);
	if (r < 0) {
		dir_free(&dir->import);
		return r;
	}
	*ret = &dir->import;
	return 0;
}
