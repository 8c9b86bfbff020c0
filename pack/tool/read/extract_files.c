/* The files of a tree that is made of a pack: whole batches of small ones, each by one thread,
 * and pieces of long ones, in any thread. */
#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/cli/interrupt.h"
#include "pack/tool/read/batch_scan.h"
#include "pack/tool/read/extract_internal.h"
#include <fcntl.h>
#include <sys/stat.h>

/* A file of many pieces, from before the first is read until the last is written. */
struct large {
	struct large *next;
	uint32_t entry;
	int fd;
	int error;     /* of making it, or of the first piece that failed */
	bool reported; /* that it failed */
};

/* What comes of one batch. */
struct note {
	struct large *large; /* NULL: whole files, or nothing to do */
	bool read;	     /* only once a file is there to take the bytes */
	int errors[BATCH_FILES];
};

/* The new owner is the user who extracts: no file may run as that user for everybody. */
static int set_attributes(struct dataset *dataset, uint32_t number, int fd)
{
	struct dataset_attr attr;
	struct timespec both[2];
	int r = dataset_attr(dataset, number, &attr);

	if (r < 0)
		return r;
	if (fchmod(fd, attr.mode & 01777) < 0 || futimens(fd, extract_times(&attr, both)) < 0)
		return -errno;
	return 0;
}

static int create_in(struct extractor *extractor, int directory, uint32_t parent, const char *name)
{
	SCOPE_LOCK(&extractor->creating[parent % EXTRACT_LOCKS]);
	return openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static int create(struct extractor *extractor, struct dirstack *directories, uint32_t number,
		  int *ret_directory, int *ret_fd)
{
	char name[FORMAT_NAME_MAX + 1];
	struct dataset_entry entry;
	int directory, fd, r;

	dataset_entry(extractor->dataset, number, &entry);
	r = dirstack_enter(directories, entry.parent, &directory);
	if (r < 0)
		return r;
	extract_name(extractor->dataset, number, name);
	fd = create_in(extractor, directory, entry.parent, name);
	if (fd < 0)
		return -errno;
	*ret_directory = directory;
	*ret_fd = fd;
	return 0;
}

/* The end of a file that was created: it is whole, with mode and time, or it is not there. */
static int conclude_file(struct extractor *extractor, uint32_t number, int directory, int fd,
			 int error)
{
	char name[FORMAT_NAME_MAX + 1];

	if (error == 0)
		error = set_attributes(extractor->dataset, number, fd);
	/* Some filesystems tell of a full disk at close only. */
	if (close(fd) < 0 && error == 0)
		error = -errno;
	if (error == 0)
		return 0;
	extract_name(extractor->dataset, number, name);
	unlinkat(directory, name, 0);
	return error;
}

/* --- in any thread ---------------------------------------------------------------------- */

/* Checks the extents, which lie one after the other in the reader. */
static int get_bytes(struct batch_reader *reader, struct batch_extents extents, char **ret_data)
{
	struct dataset_extent extent;
	char *first = NULL, *data;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < extents.count; i++) {
		r = batch_reader_extent(reader, extents.first + i, &extent, &data);
		if (r == 0) {
			struct iovec iov = {.iov_base = data, .iov_len = extent.size};

			r = dataset_check(reader->dataset, extents.first + i, &iov, 1);
		}
		if (r == 0 && i == 0)
			first = data;
	}
	if (r == 0)
		*ret_data = first;
	return r == -ENODATA ? -EBADMSG : r;
}

static int fill_file(struct batch_reader *reader, const struct batch *batch, uint32_t i, int fd)
{
	struct batch_extents extents = batch_extents(reader->dataset, batch, i);
	struct dataset_entry entry;
	char *data = NULL;
	int r = get_bytes(reader, extents, &data);

	if (r < 0)
		return r;
	dataset_entry(reader->dataset, batch->files[i], &entry);
	return io_write_full(fd, data, entry.size);
}

static int make_file(struct extractor *extractor, struct dirstack *directories,
		     struct batch_reader *reader, const struct batch *batch, uint32_t i,
		     struct note *note)
{
	int directory, fd, r;

	if (interrupt_pending())
		return -EINTR;
	r = create(extractor, directories, batch->files[i], &directory, &fd);
	if (r < 0)
		return r;
	if (!note->read)
		batch_reader_read(reader, batch);
	note->read = true;
	r = fill_file(reader, batch, i, fd);
	return conclude_file(extractor, batch->files[i], directory, fd, r);
}

static int write_piece(const struct large *large, struct batch_reader *reader,
		       const struct batch *batch)
{
	char *data;
	int r;

	if (interrupt_pending())
		return -EINTR;
	batch_reader_read(reader, batch);
	r = get_bytes(reader, batch_extents(reader->dataset, batch, 0), &data);
	return r < 0 ? r : io_pwrite_full(large->fd, data, batch->bytes, batch->from);
}

static void extract_batch(void *context, unsigned worker, const struct batch *batch,
			  struct batch_reader *reader, void *pointer)
{
	struct extractor *extractor = context;
	struct note *note = pointer;

	if (batch->piece && note->large)
		*note->errors = write_piece(note->large, reader, batch);
	for (uint32_t i = 0; !batch->piece && i < batch->count; i++)
		note->errors[i] =
			make_file(extractor, extractor->workers[worker], reader, batch, i, note);
}

/* --- in the caller's thread --------------------------------------------------------------- */

static struct large *find_large(const struct extractor *extractor, uint32_t entry)
{
	struct large *large = extractor->larges;

	while (large && large->entry != entry)
		large = large->next;
	return large;
}

static int begin_large(struct extractor *extractor, uint32_t entry)
{
	struct large *large = calloc(1, sizeof(*large));
	int directory;

	if (!large)
		return -ENOMEM;
	*large = (struct large){.next = extractor->larges, .entry = entry, .fd = -1};
	large->error = create(extractor, extractor->directories, entry, &directory, &large->fd);
	extractor->larges = large;
	return 0;
}

static int begin_batch(void *context, const struct batch *batch, void *pointer)
{
	struct extractor *extractor = context;
	struct note *note = pointer;
	struct large *large;
	int r;

	if (!batch->piece)
		return 0;
	r = batch->from == 0 ? begin_large(extractor, *batch->files) : 0;
	if (r < 0)
		return r;
	large = find_large(extractor, *batch->files);
	/* A file that has failed needs no more pieces. */
	note->large = large->error ? NULL : large;
	return 0;
}

/* Gives the file its end, and returns what became of it. */
static int end_large(struct extractor *extractor, struct large *large)
{
	const struct large ended = *large;
	SCOPE_CLOSE int fd = ended.fd;
	struct large **link = &extractor->larges;
	struct dataset_entry entry;
	int directory, r;

	while (*link != large)
		link = &(*link)->next;
	*link = ended.next;
	free(large);
	if (fd < 0)
		return ended.error;
	dataset_entry(extractor->dataset, ended.entry, &entry);
	r = dirstack_enter(extractor->directories, entry.parent, &directory);
	if (r < 0)
		return r;
	return conclude_file(extractor, ended.entry, directory, steal_fd(&fd), ended.error);
}

void extract_drop_larges(struct extractor *extractor)
{
	while (extractor->larges) {
		extractor->larges->error = -ECANCELED;
		end_large(extractor, extractor->larges);
	}
}

static int extract_file_done(struct extractor *extractor, uint32_t number, int error,
			     uint64_t bytes)
{
	struct dataset_entry entry;

	if (error == 0)
		return extractor->params->done(extractor->params->context, 1, bytes);
	dataset_entry(extractor->dataset, number, &entry);
	if (extractor->made)
		extractor->made[entry.inode] = NOT_MADE;
	return extract_tell(extractor, number, error);
}

/* A failure is reported with the first piece that fails: the next ones may be hours away. */
static int piece_done(struct extractor *extractor, const struct batch *batch,
		      const struct note *note)
{
	struct large *large = find_large(extractor, *batch->files);
	bool reported = large->reported;
	int r = 0;

	if (large->error == 0)
		large->error = *note->errors;
	if (large->error == 0)
		r = extractor->params->done(extractor->params->context, 0, batch->bytes);
	else if (!reported)
		r = extract_file_done(extractor, *batch->files, large->error, 0);
	large->reported = large->error != 0;
	reported = large->reported;
	if (r < 0 || !batch->last)
		return r;
	r = end_large(extractor, large);
	return reported ? 0 : extract_file_done(extractor, *batch->files, r, 0);
}

static int extract_batch_done(void *context, const struct batch *batch, void *pointer)
{
	struct extractor *extractor = context;
	const struct note *note = pointer;
	struct dataset_entry entry;
	int r = 0;

	if (batch->piece)
		return piece_done(extractor, batch, note);
	for (uint32_t i = 0; r == 0 && i < batch->count; i++) {
		dataset_entry(extractor->dataset, batch->files[i], &entry);
		r = extract_file_done(extractor, batch->files[i], note->errors[i], entry.size);
	}
	return r;
}

int extract_files(struct extractor *extractor, uint32_t *files, size_t count, unsigned jobs)
{
	const struct batch_scan_params params = {.dataset = extractor->dataset,
						 .files = files,
						 .count = count,
						 .jobs = jobs,
						 .note_size = sizeof(struct note),
						 .begin = begin_batch,
						 .work = extract_batch,
						 .done = extract_batch_done,
						 .context = extractor};

	return count ? batch_scan(&params) : 0;
}
