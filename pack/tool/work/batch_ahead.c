#include "pack/tool/work/batch_ahead.h"

#include "base/clock.h"
#include "base/math.h"
#include "base/reader.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/work/batches.h"
#include "pack/tool/work/interrupt.h"
#include <string.h>
#include <time.h>

#define LARGE	(64 * MIB)	    /* longer files are read by themselves */
#define LOOK_NS (CLOCK_SECOND / 10) /* for an interruption, while it waits */

/* What one request brings: at most BATCH_BYTES. */
struct piece {
	struct reader_request request;
	struct iovec iov;
	struct read_batch *batch;
};

/* The bytes of neighbours, or of one long file, in whole pages. A small batch is one piece,
 * although the pages in which it begins and ends make it longer. */
struct read_batch {
	struct batch_ahead *ahead;
	struct read_batch *next;
	size_t first, end; /* numbers of files */
	uint64_t from;	   /* of the memory, in the pack */
	char *memory;	   /* NULL: there was none, or no need */
	/* Protected by lock: */
	unsigned done;	/* pieces */
	unsigned users; /* files that are begun and not read */
	bool closed;	/* no other file of it will begin */
	int error;

	unsigned count;
	struct piece pieces[];
};

struct batch_ahead {
	struct dataset *dataset;
	struct reader *reader;
	bool remote;
	struct batch_list list;
	struct read_batch *last; /* the one that files begin in */
	pthread_mutex_t lock;
	pthread_cond_t ready;	/* a batch is read */
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
	ahead->reader = reader;
	ahead->list = (struct batch_list){.dataset = dataset, .files = files, .count = count};
	r = reader_prepare(reader, READER_AUTO);
	if (r < 0) {
		free(ahead);
		return r;
	}
	ahead->remote = reader_hints(reader).remote;
	pthread_mutex_init(&ahead->lock, NULL);
	clock_cond_init(&ahead->ready);
	*ret = ahead;
	return 0;
}

static bool is_read(const struct read_batch *batch)
{
	return batch->done == batch->count;
}

static void free_batch(struct read_batch *batch)
{
	if (!batch)
		return;
	for (unsigned i = 0; i < batch->count; i++)
		reader_settle(&batch->pieces[i].request, batch->error == 0);
	free(batch->memory);
	free(batch);
}

void batch_ahead_free(struct batch_ahead *ahead)
{
	struct read_batch *batch;
	bool busy = false;

	if (!ahead)
		return;
	pthread_mutex_lock(&ahead->lock);
	for (batch = ahead->all; batch; batch = batch->next)
		busy |= !is_read(batch);
	pthread_mutex_unlock(&ahead->lock);
	if (busy)
		reader_cancel(ahead->reader);
	while ((batch = ahead->all)) {
		pthread_mutex_lock(&ahead->lock);
		while (!is_read(batch))
			pthread_cond_wait(&ahead->ready, &ahead->lock);
		pthread_mutex_unlock(&ahead->lock);
		ahead->all = batch->next;
		free_batch(batch);
	}
	pthread_cond_destroy(&ahead->ready);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead);
}

/* --- batches ---------------------------------------------------------------------------------- */

static void on_done(void *arg, int error)
{
	struct read_batch *batch = ((struct piece *)arg)->batch;
	struct batch_ahead *ahead = batch->ahead;

	SCOPE_LOCK(&ahead->lock);
	batch->error = batch->error ? batch->error : error;
	batch->done++;
	if (is_read(batch))
		pthread_cond_broadcast(&ahead->ready);
}

static void divide(struct read_batch *batch, uint64_t needed)
{
	for (unsigned i = 0; i < batch->count; i++) {
		struct piece *piece = &batch->pieces[i];
		uint64_t at = i * BATCH_BYTES, len = needed - at;

		if (batch->count > 1)
			len = min(len, (uint64_t)BATCH_BYTES);
		piece->batch = batch;
		piece->iov.iov_base = batch->memory + at;
		piece->iov.iov_len = (len + READER_PAGE - 1) / READER_PAGE * READER_PAGE;
		piece->request = (struct reader_request){.iov = &piece->iov,
							 .count = 1,
							 .offset = batch->from + at,
							 .needed = len,
							 .ahead = true,
							 .done = on_done,
							 .arg = piece};
	}
}

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
	batch->ahead = ahead;
	batch->first = number;
	batch->end = end;
	batch->from = from;
	if (pieces && posix_memalign(&memory, READER_PAGE, needed + READER_PAGE) == 0) {
		batch->memory = memory;
		batch->count = (unsigned)pieces;
	}
	divide(batch, needed);
	return batch;
}

/* Takes out what nobody needs any more. Lock held. The batch, for free_batch(), or NULL. */
static struct read_batch *take_out(struct batch_ahead *ahead, struct read_batch *batch)
{
	struct read_batch **link = &ahead->all;

	if (!batch->closed || batch->users || !is_read(batch))
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
	for (unsigned i = 0; batch && i < batch->count; i++)
		reader_submit(ahead->reader, &batch->pieces[i].request);
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
	for (unsigned i = 0; i < batch->count; i++)
		atomic_store(&batch->pieces[i].request.ahead, false);
	while (!is_read(batch) && !interrupt_pending()) {
		until = clock_after(LOOK_NS);
		pthread_cond_timedwait(&ahead->ready, &ahead->lock, &until);
	}
	*ret = is_read(batch) ? batch->error : -EINTR;
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
	pthread_mutex_lock(&ahead->lock);
	batch = wait_for_batch(ahead, number, &r);
	pthread_mutex_unlock(&ahead->lock);
	if (!batch || (r == 0 && (!batch->memory ||
				  take_bytes(ahead, batch, ahead->list.files[number], buf) < 0)))
		r = read_alone(ahead, number, buf);
	if (!batch)
		return r;
	pthread_mutex_lock(&ahead->lock);
	batch->users--;
	batch = take_out(ahead, batch);
	pthread_mutex_unlock(&ahead->lock);
	free_batch(batch);
	return r;
}
