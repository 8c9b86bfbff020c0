#include "pack/tool/work/batch_ahead.h"

#include "base/clock.h"
#include "base/math.h"
#include "base/reader.h"
#include "base/scope.h"
#include "base/size.h"
#include "base/workers.h"
#include "pack/tool/work/batches.h"
#include "pack/tool/work/interrupt.h"
#include <string.h>
#include <time.h>

#define AT_ONCE 16		    /* requests; of single objects, as many as there may be */
#define LARGE	(64 * MIB)	    /* longer files are read by themselves */
#define LOOK_NS (CLOCK_SECOND / 10) /* for an interruption, while it waits */

/* The bytes of neighbours, or of one long file, in whole pages. They are read in pieces of
 * BATCH_BYTES. A small batch is one piece, although the pages in which it begins and ends make it
 * longer. */
struct read_batch {
	struct read_batch *next;
	size_t first, end; /* numbers of files */
	uint64_t from;	   /* of the memory, in the pack */
	uint64_t needed;   /* bytes of it */
	char *memory;	   /* NULL: there was none, or no need */
	/* Protected by the lock of the workers: */
	unsigned pieces, begun, done;
	unsigned users; /* files that are begun and not read */
	bool closed;	/* no other file of it will begin */
	int error;
};

struct batch_ahead {
	struct dataset *dataset;
	struct reader *reader;
	bool remote;
	struct batch_list list;
	struct read_batch *last; /* the one that files begin in */
	struct workers workers;
	pthread_cond_t ready;	/* a batch is read */
	struct read_batch *all; /* in order; protected by the lock of the workers */
	bool given_up;		/* the same */
};

/* --- in the threads that read ----------------------------------------------------------------- */

/* Lock held, but while a piece is read. */
static bool read_next(void *context)
{
	struct batch_ahead *ahead = context;
	struct read_batch *batch = ahead->all;
	uint64_t at, needed;
	struct iovec iov;
	int r;

	while (batch && batch->begun == batch->pieces)
		batch = batch->next;
	if (!batch || ahead->given_up)
		return false;
	at = batch->begun++ * BATCH_BYTES;
	pthread_mutex_unlock(&ahead->workers.lock);
	needed = batch->needed - at;
	if (batch->pieces > 1)
		needed = min(needed, (uint64_t)BATCH_BYTES);
	iov.iov_base = batch->memory + at;
	iov.iov_len = (needed + READER_PAGE - 1) / READER_PAGE * READER_PAGE;
	r = reader_read(ahead->reader, &iov, 1, batch->from + at, needed);
	pthread_mutex_lock(&ahead->workers.lock);
	batch->error = batch->error ? batch->error : r;
	if (++batch->done == batch->pieces)
		pthread_cond_broadcast(&ahead->ready);
	return true;
}

/* --- its life --------------------------------------------------------------------------------- */

int batch_ahead_new(struct dataset *dataset, const uint32_t *files, size_t count,
		    struct batch_ahead **ret)
{
	struct reader *reader = dataset_reader(dataset);
	struct batch_ahead *ahead = calloc(1, sizeof(*ahead));
	struct reader_hints hints;
	int r;

	if (!ahead)
		return -ENOMEM;
	ahead->dataset = dataset;
	ahead->reader = reader;
	ahead->list = (struct batch_list){.dataset = dataset, .files = files, .count = count};
	r = reader_prepare(reader, READER_AUTO);
	if (r < 0) {
		free(ahead);
		return r;
	}
	hints = reader_hints(reader);
	ahead->remote = hints.remote;
	workers_init(&ahead->workers, hints.members ? WORKERS_MOST : AT_ONCE, read_next, ahead);
	clock_cond_init(&ahead->ready);
	*ret = ahead;
	return 0;
}

void batch_ahead_free(struct batch_ahead *ahead)
{
	struct read_batch *batch;
	bool busy = false;

	if (!ahead)
		return;
	pthread_mutex_lock(&ahead->workers.lock);
	ahead->given_up = true;
	for (batch = ahead->all; batch; batch = batch->next)
		busy |= batch->done < batch->begun;
	pthread_mutex_unlock(&ahead->workers.lock);
	if (busy)
		reader_cancel(ahead->reader);
	workers_release(&ahead->workers);
	pthread_cond_destroy(&ahead->ready);
	while ((batch = ahead->all)) {
		ahead->all = batch->next;
		free(batch->memory);
		free(batch);
	}
	free(ahead);
}

/* --- batches ---------------------------------------------------------------------------------- */

/* One that begins with a file. A long file is one of its own. */
static struct read_batch *make_batch(struct batch_ahead *ahead, size_t number)
{
	struct read_batch *batch = calloc(1, sizeof(*batch));
	uint32_t entry = ahead->list.files[number];
	uint64_t start, size = dataset_entry(ahead->dataset, entry).size;
	struct batch chosen;
	void *memory;

	if (!batch)
		return NULL;
	ahead->list.next = number;
	if (size <= BATCH_BYTES && batch_list_next(&ahead->list, &chosen)) {
		start = chosen.start;
		size = chosen.len;
		batch->end = number + chosen.count;
	} else {
		start = dataset_extent(ahead->dataset, dataset_first_extent(ahead->dataset, entry))
				.offset;
		batch->end = number + 1;
	}
	batch->first = number;
	batch->from = start / READER_PAGE * READER_PAGE;
	batch->needed = size ? start - batch->from + size : 0;
	batch->pieces =
		size > BATCH_BYTES ? (unsigned)((batch->needed - 1) / BATCH_BYTES + 1) : size > 0;
	if (batch->pieces && posix_memalign(&memory, READER_PAGE, batch->needed + READER_PAGE) == 0)
		batch->memory = memory;
	if (!batch->memory)
		batch->pieces = 0;
	return batch;
}

/* Lock held. */
static void release_batch(struct batch_ahead *ahead, struct read_batch *batch)
{
	struct read_batch **link = &ahead->all;

	if (!batch->closed || batch->users || batch->done < batch->pieces)
		return;
	while (*link != batch)
		link = &(*link)->next;
	*link = batch->next;
	free(batch->memory);
	free(batch);
}

void batch_ahead_begin(struct batch_ahead *ahead, size_t number)
{
	struct read_batch *before = ahead->last, **link = &ahead->all;

	if (!ahead->remote || dataset_entry(ahead->dataset, ahead->list.files[number]).size > LARGE)
		return;
	if (!before || number >= before->end)
		ahead->last = make_batch(ahead, number);

	SCOPE_LOCK(&ahead->workers.lock);
	if (before && ahead->last != before) {
		before->closed = true;
		release_batch(ahead, before);
	}
	if (!ahead->last)
		return;
	ahead->last->users++;
	if (ahead->last == before)
		return;
	while (*link)
		link = &(*link)->next;
	*link = ahead->last;
	if (workers_begin(&ahead->workers) < 0 && ahead->workers.started == 0) {
		/* Then each file of it is read by itself. */
		free(steal_ptr(&ahead->last->memory));
		ahead->last->pieces = 0;
	}
	pthread_cond_broadcast(&ahead->workers.changed);
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

/* Waits until the batch with a file is read. Lock held. NULL: there is none, or it has failed. */
static struct read_batch *wait_for_batch(struct batch_ahead *ahead, size_t number, int *ret)
{
	struct read_batch *batch = ahead->all;
	struct timespec until;

	while (batch && number >= batch->end)
		batch = batch->next;
	if (!batch || number < batch->first || !batch->users)
		return NULL;
	while (batch->done < batch->pieces && !interrupt_pending()) {
		until = clock_after(LOOK_NS);
		pthread_cond_timedwait(&ahead->ready, &ahead->workers.lock, &until);
	}
	*ret = batch->done < batch->pieces ? -EINTR : batch->error;
	return batch;
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
	struct read_batch *batch;
	int r = 0;

	if (!ahead->remote)
		return read_alone(ahead, number, buf);
	pthread_mutex_lock(&ahead->workers.lock);
	batch = wait_for_batch(ahead, number, &r);
	pthread_mutex_unlock(&ahead->workers.lock);
	if (!batch || (r == 0 && (!batch->memory ||
				  take_bytes(ahead, batch, ahead->list.files[number], buf) < 0)))
		r = read_alone(ahead, number, buf);
	if (!batch)
		return r;
	SCOPE_LOCK(&ahead->workers.lock);
	batch->users--;
	release_batch(ahead, batch);
	return r;
}
