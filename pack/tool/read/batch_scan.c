#include "pack/tool/read/batch_scan.h"

#include "base/huge.h"
#include "base/math.h"
#include "base/reader.h"
#include "base/scope.h"
#include "pack/tool/work/pipeline.h"
#include "pack/tool/work/reads_ahead.h"
#include <string.h>
#include <sys/mman.h>

/* --- the bytes of a batch -------------------------------------------------------------------- */

/* The bytes to read, from *ret_from on: those of a batch, and of the page in which it begins. */
static size_t needed_of(const struct batch *batch, uint64_t *ret_from)
{
	*ret_from = batch->start / READER_PAGE * READER_PAGE;
	return (size_t)(batch->start - *ret_from) + batch->len;
}

/* Reads whole pages; from the page cache if that has all of them. The pack may end within the last
 * page. */
void batch_reader_read(struct batch_reader *reader, const struct batch *batch)
{
	struct reader *pack = dataset_reader(reader->dataset);
	uint64_t from;
	size_t needed = needed_of(batch, &from);
	struct iovec all = {.iov_base = reader->memory,
			    .iov_len = (needed + READER_PAGE - 1) / READER_PAGE * READER_PAGE};
	struct iovec iov = all;

	if (reader->ahead) {
		reader->error = reads_ahead_wait(reader->ahead);
		return;
	}
	reader->start = from;
	reader->error = 0;
	if (batch->len == 0 || reader_read_now(pack, &iov, 1, from, needed) == 0)
		return;
	iov = all;
	reader->error = reader_read(pack, &iov, 1, from, needed);
}

int batch_reader_check(struct batch_reader *reader, uint64_t number, struct dataset_extent *ret,
		       char **ret_data)
{
	const struct dataset_extent extent = dataset_extent(reader->dataset, number);
	char *data = reader->memory + (extent.offset - reader->start);
	struct iovec iov = {.iov_base = data, .iov_len = extent.size};
	struct reader *pack = dataset_reader(reader->dataset);
	int r = reader->error;

	/* A disk may have lost one sector of a batch. A server was asked often enough. */
	if (r < 0 && !reader_hints(pack).remote)
		r = reader_get_full(pack, data, extent.size, extent.offset);
	if (r < 0)
		return r;
	*ret = extent;
	*ret_data = data;
	return dataset_check(reader->dataset, number, &iov, 1);
}

/* --- all batches ----------------------------------------------------------------------------- */

#define JOBS_LEAST 8u
#define JOBS_MOST  256u
#define SLOTS_FAR  1024u
#define BYTES_FAR  (64 * MIB) /* of batches that are read ahead */

/* One batch on its way. */
struct batch_slot {
	struct batch batch;
	void *note;
	char *memory;	/* that it is read into ahead; NULL: a thread reads it */
	uint64_t start; /* of the memory, in the pack */
	struct read_ahead read;
};

struct batch_scan {
	const struct batch_scan_params *params;
	struct batch_list batches;
	struct batch_reader *readers; /* of each thread */
	unsigned jobs;		      /* how many there are */
	struct batch_slot *items;     /* a ring */
	char *notes;
	unsigned slots;
	bool remote;
	uint64_t next; /* the item to put in */
	struct reads_ahead ahead;
};

static void end_ahead(struct batch_slot *item)
{
	reads_ahead_end(&item->read, item->read.error == 0);
	free(item->memory);
	item->memory = NULL;
}

static void scan_release(struct batch_scan *scan)
{
	reads_ahead_release(&scan->ahead);
	for (unsigned i = 0; scan->items && i < scan->slots; i++)
		if (scan->items[i].memory)
			end_ahead(&scan->items[i]);
	for (unsigned i = 0; i < scan->jobs; i++)
		free(scan->readers[i].memory);
	free(scan->readers);
	free(scan->items);
	free(scan->notes);
}

static int scan_prepare(struct batch_scan *scan)
{
	const struct batch_scan_params *params = scan->params;
	struct reader *reader = dataset_reader(params->dataset);
	void *memory;
	int r;

	reads_ahead_init(&scan->ahead, reader);
	scan->remote = reader_hints(reader).remote;
	/* Enough that a slow batch keeps no thread waiting. */
	scan->slots = scan->remote ? SLOTS_FAR : 4 * params->jobs;
	scan->readers = calloc(params->jobs, sizeof(*scan->readers));
	scan->items = calloc(scan->slots, sizeof(*scan->items));
	scan->notes = calloc(scan->slots, params->note_size);
	if (!scan->readers || !scan->items || !scan->notes)
		return -ENOMEM;
	r = reader_prepare(reader, READER_AUTO);
	if (r < 0)
		return r;
	r = batch_sort(params->dataset, params->files, params->count);
	scan->batches = (struct batch_list){
		.dataset = params->dataset, .files = params->files, .count = params->count};
	/* In huge pages a batch is one request to the device. In small pages it would be many,
	 * since a request takes some 250 of them. */
	for (; r == 0 && scan->jobs < params->jobs; scan->jobs++) {
		if (posix_memalign(&memory, HUGE_PAGE, BATCH_BYTES + 2 * READER_PAGE) != 0)
			return -ENOMEM;
		madvise(memory, BATCH_BYTES, MADV_HUGEPAGE);
		scan->readers[scan->jobs] =
			(struct batch_reader){.dataset = params->dataset, .memory = memory};
	}
	return r;
}

static void scan_work(void *context, unsigned worker, void *pointer)
{
	const struct batch_scan *scan = context;
	struct batch_reader reader = scan->readers[worker];
	struct batch_slot *item = pointer;

	if (item->memory) {
		reader.memory = item->memory;
		reader.start = item->start;
		reader.ahead = &item->read;
	}
	scan->params->work(scan->params->context, worker, &item->batch, &reader, item->note);
	if (item->memory && reads_ahead_wait(&item->read) != -EINTR)
		end_ahead(item);
}

/* Returns how many bytes of memory it takes; 0: it is read by the thread that works on it. */
static size_t begin_ahead(struct batch_scan *scan, struct batch_slot *item)
{
	size_t needed = needed_of(&item->batch, &item->start);
	void *memory;

	if (!scan->remote || item->batch.len == 0 ||
	    posix_memalign(&memory, READER_PAGE, needed + READER_PAGE) != 0)
		return 0;
	item->memory = memory;
	reads_ahead_begin(&scan->ahead, &item->read, memory, item->start, needed);
	return needed;
}

/* The next batch, in its place in the ring: 1, 0 at the end, or what begin() returned. */
static int scan_begin(struct batch_scan *scan, struct batch_slot **ret)
{
	const struct batch_scan_params *params = scan->params;
	unsigned slot = (unsigned)(scan->next % scan->slots);
	struct batch_slot *item = &scan->items[slot];
	int r = 0;

	if (item->memory)
		return -EINTR; /* it may be under way still */
	if (!batch_list_next(&scan->batches, &item->batch))
		return 0;
	scan->next++;
	item->note = scan->notes + slot * params->note_size;
	memset(item->note, 0, params->note_size);
	if (params->begin)
		r = params->begin(params->context, &item->batch, item->note);
	*ret = item;
	return r == 0 ? 1 : r;
}

int batch_scan(const struct batch_scan_params *params)
{
	SCOPE(scan_release) struct batch_scan scan = {.params = params};
	struct pipeline_params piped = {.work = scan_work, .context = &scan};
	struct pipeline *pipeline;
	struct batch_slot *item;
	bool ended = false;
	int r = scan_prepare(&scan);

	if (r < 0)
		return r;
	piped.workers = scan.jobs;
	piped.slots = scan.slots;
	piped.bytes = BYTES_FAR;
	r = pipeline_new(&piped, &pipeline);
	if (r < 0)
		return r;
	do {
		while (r == 0 && !ended && pipeline_has_room(pipeline, BATCH_BYTES)) {
			r = scan_begin(&scan, &item);
			ended = r != 1;
			if (r == 1) {
				pipeline_put(pipeline, item, begin_ahead(&scan, item));
				r = 0;
			}
		}
		item = r == 0 ? pipeline_take(pipeline) : NULL;
		if (item)
			r = params->done(params->context, &item->batch, item->note);
	} while (r == 0 && item);
	if (r < 0)
		reads_ahead_cancel(&scan.ahead); /* threads of the pipeline wait for them */
	pipeline_free(pipeline);
	return r;
}

unsigned batch_scan_jobs(uint64_t asked)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t jobs = processors > (long)JOBS_LEAST ? (uint64_t)processors : JOBS_LEAST;

	return (unsigned)min(asked ? asked : jobs, JOBS_MOST);
}
