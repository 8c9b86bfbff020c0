/* The bytes of files that a folder and a dataset both have: those of the dataset by batches, in
 * its order, those of the folder file by file. */
#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/import/dirstack.h"
#include "pack/tool/read/batch_scan.h"
#include "pack/tool/read/compare_internal.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* What a thread has of its own. */
struct compare_worker {
	struct dirstack *directories; /* of the folder */
	char *piece;		      /* FORMAT_EXTENT bytes */
};

struct reading {
	const struct compare *compare;
	struct compare_worker *workers;
	/* The long file that is known not to be the same: no more of it is read. */
	_Atomic uint32_t settled;
};

enum outcome { SAME, DIFFERENT, UNREADABLE, DAMAGED };

struct verdict {
	enum outcome outcome;
	int error; /* of the last two */
};

/* What comes of one batch. */
struct note {
	struct verdict verdicts[BATCH_FILES];
};

static void reading_release(struct reading *reading)
{
	for (unsigned i = 0; reading->workers && i < reading->compare->params->jobs; i++) {
		dirstack_free(reading->workers[i].directories);
		free(reading->workers[i].piece);
	}
	free(reading->workers);
}

static uint32_t scan_parent(const void *scan, uint32_t directory)
{
	return scan_entry(scan, directory)->parent;
}

static void copy_scan_name(const void *scan, uint32_t directory, char ret[FORMAT_NAME_MAX + 1])
{
	snprintf(ret, FORMAT_NAME_MAX + 1, "%s", scan_name(scan, directory));
}

static int reading_prepare(struct reading *reading)
{
	const struct compare *compare = reading->compare;
	const struct dirstack_tree tree = {
		.parent = scan_parent, .name = copy_scan_name, .context = compare->scan};
	int r = 0;

	reading->workers = calloc(compare->params->jobs, sizeof(*reading->workers));
	if (!reading->workers)
		return -ENOMEM;
	for (unsigned i = 0; r == 0 && i < compare->params->jobs; i++) {
		reading->workers[i].piece = malloc(FORMAT_EXTENT);
		r = reading->workers[i].piece ? dirstack_new(&tree, compare->params->root,
							     &reading->workers[i].directories)
					      : -ENOMEM;
	}
	return r;
}

/* --- in any thread ---------------------------------------------------------------------- */

/* O_NONBLOCK: a named pipe that has taken the file's place must not hang. */
static int open_compared(const struct compare *compare, struct dirstack *directories,
			 uint32_t number, int *ret_fd)
{
	SCOPE_CLOSE int fd = -1;
	struct stat st;
	int directory, r;

	r = dirstack_enter(directories, scan_entry(compare->scan, number)->parent, &directory);
	if (r < 0)
		return r;
	fd = openat(directory, scan_name(compare->scan, number),
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP ? -ESTALE : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size != compare_data(compare->scan, number)->size)
		return -ESTALE;
	*ret_fd = steal_fd(&fd);
	return 0;
}

/* Where both agree, the checksum would say nothing new. Where they do not, it says which of
 * them is damaged. */
static struct verdict compare_extent(struct batch_reader *reader, uint64_t number, int fd,
				     char *piece)
{
	struct dataset_extent extent;
	struct iovec iov;
	char *data;
	int r = batch_reader_extent(reader, number, &extent, &data);

	if (r < 0)
		return (struct verdict){DAMAGED, r};
	r = io_pread_full(fd, piece, extent.size, extent.from);
	if (r < 0)
		return (struct verdict){UNREADABLE, r == -ENODATA ? -ESTALE : r};
	if (memcmp(piece, data, extent.size) == 0)
		return (struct verdict){SAME, 0};
	iov = (struct iovec){.iov_base = data, .iov_len = extent.size};
	r = dataset_check(reader->dataset, number, &iov, 1);
	return r < 0 ? (struct verdict){DAMAGED, r} : (struct verdict){DIFFERENT, 0};
}

static struct verdict compare_file(const struct reading *reading,
				   const struct compare_worker *worker, const struct batch *batch,
				   uint32_t i, struct batch_reader *reader)
{
	const struct compare *compare = reading->compare;
	struct batch_extents extents = batch_extents(reader->dataset, batch, i);
	struct verdict verdict = {SAME, 0};
	SCOPE_CLOSE int fd = -1;
	int r = open_compared(compare, worker->directories, compare->in_scan[batch->files[i]], &fd);

	if (r < 0)
		return (struct verdict){UNREADABLE, r};
	for (uint64_t k = 0; verdict.outcome == SAME && k < extents.count; k++)
		verdict = compare_extent(reader, extents.first + k, fd, worker->piece);
	return verdict;
}

static void compare_batch(void *context, unsigned worker, const struct batch *batch,
			  struct batch_reader *reader, void *pointer)
{
	struct reading *reading = context;
	struct note *note = pointer;

	if (batch->piece && atomic_load(&reading->settled) == *batch->files)
		return;
	batch_reader_read(reader, batch);
	for (uint32_t i = 0; i < batch->count; i++)
		note->verdicts[i] =
			compare_file(reading, &reading->workers[worker], batch, i, reader);
}

/* --- in the caller's thread ----------------------------------------------------------------- */

static int tell_error(const struct compare *compare, uint32_t entry, const struct verdict *verdict)
{
	const struct compare_params *params = compare->params;
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = dataset_path(compare->dataset, entry, &path);

	if (r < 0)
		return r;
	if (verdict->outcome == DAMAGED)
		return params->damaged(params->context, path.data, verdict->error);
	return params->unreadable(params->context, path.data, verdict->error);
}

/* Pieces of a file come one after the other: the first that differs is reported, and no other. */
static int compare_file_done(struct reading *reading, uint32_t entry, const struct verdict *verdict)
{
	if (verdict->outcome == SAME || atomic_load(&reading->settled) == entry)
		return 0;
	if (verdict->error == -ENOMEM)
		return -ENOMEM;
	atomic_store(&reading->settled, entry);
	return verdict->outcome == DIFFERENT ? compare_tell(reading->compare, entry, COMPARE_BYTES)
					     : tell_error(reading->compare, entry, verdict);
}

static int compare_batch_done(void *context, const struct batch *batch, void *pointer)
{
	struct reading *reading = context;
	const struct compare_params *params = reading->compare->params;
	const struct note *note = pointer;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < batch->count; i++)
		r = compare_file_done(reading, batch->files[i], &note->verdicts[i]);
	return r < 0 ? r
		     : params->done(params->context, batch->last ? batch->count : 0, batch->bytes);
}

int compare_bytes(const struct compare *compare, uint32_t *files, size_t count)
{
	SCOPE(reading_release)
	struct reading reading = {.compare = compare, .settled = COMPARE_NONE};
	const struct batch_scan_params params = {.dataset = compare->dataset,
						 .files = files,
						 .count = count,
						 .jobs = compare->params->jobs,
						 .note_size = sizeof(struct note),
						 .work = compare_batch,
						 .done = compare_batch_done,
						 .context = &reading};
	int r = reading_prepare(&reading);

	return r < 0 ? r : batch_scan(&params);
}
