#include "pack/tool/work/batch_ahead.h"

#include "base/math.h"
#include "base/reader.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/work/batches.h"
#include "pack/tool/work/reads_ahead.h"
#include <string.h>

#define LARGE (64 * MIB) /* longer files are read by themselves */

/* The bytes of neighbours, or of one long file, in whole pages. They are read in pieces of
 * BATCH_BYTES. A small batch is one piece, although the pages in which it begins and ends make it
 * longer. */
struct read_batch {
	struct read_batch *next;
	size_t first, end; /* numbers of files */
	uint64_t from;	   /* of the memory, in the pack */
	uint64_t needed;   /* bytes of it */
	char *memory;	   /* NULL: there was none, or no need */
	/* Protected by lock: */
	unsigned users; /* files that are begun and not read */
	bool closed;	/* no other file of it will begin */

	unsigned count;
	struct read_ahead pieces[];
};

struct batch_ahead {
	struct dataset *dataset;
	bool remote;
	struct batch_list list;
	struct read_batch *last; /* the one that files begin in */
	struct reads_ahead reads;
	pthread_mutex_t lock;
	struct read_batch *all; /* in order; protected by lock */
};

/* --- its life --------------------------------------------------------------------------------- */

int batch_ahead_new(struct dataset *dataset, const uint32_t *files, size_t count,
		    struct batch_ahead **ret)
{
	struct reader *reader = dataset_reader(dataset);
	struct batch_ahead *ahead = calloc(1, sizeof(*ahead));
	int r;

	if (!ahead)
		return -ENOMEM;
	ahead->dataset = dataset;
	ahead->list = (struct batch_list){.dataset = dataset, .files = files, .count = count};
	r = reader_prepare(reader, READER_AUTO);
	if (r < 0) {
		free(ahead);
		return r;
	}
	ahead->remote = reader_hints(reader).remote;
	reads_ahead_init(&ahead->reads, reader);
	pthread_mutex_init(&ahead->lock, NULL);
	*ret = ahead;
	return 0;
}

static void free_batch(struct read_batch *batch)
{
	if (!batch)
		return;
	for (unsigned i = 0; i < batch->count; i++)
		reads_ahead_end(&batch->pieces[i], batch->pieces[i].error == 0);
	free(batch->memory);
	free(batch);
}

void batch_ahead_free(struct batch_ahead *ahead)
{
	struct read_batch *batch;

	if (!ahead)
		return;
	reads_ahead_release(&ahead->reads);
	while ((batch = ahead->all)) {
		ahead->all = batch->next;
		free_batch(batch);
	}
	pthread_mutex_destroy(&ahead->lock);
	free(ahead);
}

/* --- batches ---------------------------------------------------------------------------------- */

/* One that begins with a file. A long file is one of its own. */
static struct read_batch *make_batch(struct batch_ahead *ahead, size_t number)
{
	uint32_t entry = ahead->list.files[number];
	uint64_t start, from, needed, size = dataset_entry(ahead->dataset, entry).size;
	struct read_batch *batch;
	struct batch chosen;
	size_t pieces, end = number + 1;
	void *memory = NULL;

	ahead->list.next = number;
	if (size <= BATCH_BYTES && batch_list_next(&ahead->list, &chosen)) {
		start = chosen.start;
		size = chosen.len;
		end = number + chosen.count;
	} else {
		start = dataset_extent(ahead->dataset, dataset_first_extent(ahead->dataset, entry))
				.offset;
	}
	from = start / READER_PAGE * READER_PAGE;
	needed = start - from + size;
	pieces = size > BATCH_BYTES ? (needed - 1) / BATCH_BYTES + 1 : size > 0;
	batch = calloc(1, sizeof(*batch) + pieces * sizeof(batch->pieces[0]));
	if (!batch)
		return NULL;
	batch->first = number;
	batch->end = end;
	batch->from = from;
	batch->needed = needed;
	if (pieces && posix_memalign(&memory, READER_PAGE, needed + READER_PAGE) == 0) {
		batch->memory = memory;
		batch->count = (unsigned)pieces;
	}
	return batch;
}

/* Takes out what nobody needs any more. Lock held. The batch, for free_batch(), or NULL. */
static struct read_batch *take_out(struct batch_ahead *ahead, struct read_batch *batch)
{
	struct read_batch **link = &ahead->all;

	if (!batch->closed || batch->users)
		return NULL;
	while (*link != batch)
		link = &(*link)->next;
	*link = batch->next;
	return batch;
}

void batch_ahead_begin(struct batch_ahead *ahead, size_t number)
{
	struct read_batch *batch = ahead->last, *over = NULL, **link = &ahead->all;

	if (!ahead->remote || dataset_entry(ahead->dataset, ahead->list.files[number]).size > LARGE)
		return;
	if (!batch || number >= batch->end)
		batch = make_batch(ahead, number);

	pthread_mutex_lock(&ahead->lock);
	if (batch)
		batch->users++;
	if (batch != ahead->last) {
		if (ahead->last) {
			ahead->last->closed = true;
			over = take_out(ahead, ahead->last);
		}
		while (*link)
			link = &(*link)->next;
		*link = batch;
	}
	pthread_mutex_unlock(&ahead->lock);

	free_batch(over);
	if (batch == ahead->last)
		return;
	ahead->last = batch;
	for (unsigned i = 0; batch && i < batch->count; i++) {
		uint64_t at = i * BATCH_BYTES, needed = batch->needed - at;

		if (batch->count > 1)
			needed = min(needed, (uint64_t)BATCH_BYTES);
		reads_ahead_begin(&ahead->reads, &batch->pieces[i], batch->memory + at,
				  batch->from + at, needed);
	}
}

/* --- files ------------------------------------------------------------------------------------ */

static int read_alone(const struct batch_ahead *ahead, size_t number, void *buf)
{
	uint32_t entry = ahead->list.files[number];
	uint64_t size = dataset_entry(ahead->dataset, entry).size;
	ssize_t n = dataset_read(ahead->dataset, entry, buf, size, 0);

	if (n < 0)
		return n == -ENODATA ? -EBADMSG : (int)n;
	return (uint64_t)n < size ? -EBADMSG : 0;
}

/* The batch with a file that has begun; NULL: there is none. */
static struct read_batch *batch_of(struct batch_ahead *ahead, size_t number)
{
	struct read_batch *batch;

	SCOPE_LOCK(&ahead->lock);
	batch = ahead->all;
	while (batch && number >= batch->end)
		batch = batch->next;
	return batch && number >= batch->first && batch->users ? batch : NULL;
}

/* For all of it, even if a piece fails, unless it is interrupted. */
static int wait_for_batch(struct read_batch *batch)
{
	int r = 0;

	for (unsigned i = 0; r != -EINTR && i < batch->count; i++) {
		int error = reads_ahead_wait(&batch->pieces[i]);

		r = error == -EINTR || r == 0 ? error : r;
	}
	return r;
}

/* Copies the bytes of a file out of its batch, and checks them: 0 or -EBADMSG. */
static int take_bytes(const struct batch_ahead *ahead, const struct read_batch *batch,
		      uint32_t entry, char *buf)
{
	uint64_t first = dataset_first_extent(ahead->dataset, entry);
	uint64_t count = format_extents(dataset_entry(ahead->dataset, entry).size);
	int r = 0;

	for (uint64_t i = first; r == 0 && i < first + count; i++) {
		const struct dataset_extent extent = dataset_extent(ahead->dataset, i);
		const struct iovec iov = {.iov_base = buf + extent.from, .iov_len = extent.size};

		memcpy(iov.iov_base, batch->memory + (extent.offset - batch->from), extent.size);
		r = dataset_check(ahead->dataset, i, &iov, 1);
	}
	return r;
}

/* What does not match its checksum is read once more. */
int batch_ahead_read(struct batch_ahead *ahead, size_t number, void *buf)
{
	struct read_batch *batch = ahead->remote ? batch_of(ahead, number) : NULL;
	int r = batch ? wait_for_batch(batch) : 0;

	if (!batch || (r == 0 && (!batch->memory ||
				  take_bytes(ahead, batch, ahead->list.files[number], buf) < 0)))
		r = read_alone(ahead, number, buf);
	if (!batch || r == -EINTR)
		return r; /* what may be under way stays until the end */
	pthread_mutex_lock(&ahead->lock);
	batch->users--;
	batch = take_out(ahead, batch);
	pthread_mutex_unlock(&ahead->lock);
	free_batch(batch);
	return r;
}
