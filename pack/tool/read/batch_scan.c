#include "pack/tool/read/batch_scan.h"

#include "base/huge.h"
#include "base/math.h"
#include "base/reader.h"
#include "base/scope.h"
#include "pack/tool/work/pipeline.h"
#include <string.h>
#include <sys/mman.h>

/* --- the bytes of a batch -------------------------------------------------------------------- */

/* Reads whole pages; from the page cache if that has all of them. The pack may end within the last
 * page. */
void batch_reader_read(struct batch_reader *reader, const struct batch *batch)
{
	struct reader *pack = dataset_reader(reader->dataset);
	uint64_t from = batch->start / READER_PAGE * READER_PAGE;
	size_t needed = (size_t)(batch->start - from) + batch->len;
	struct iovec all = {.iov_base = reader->memory,
			    .iov_len = (needed + READER_PAGE - 1) / READER_PAGE * READER_PAGE};
	struct iovec iov = all;

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

/* One batch on its way. */
struct batch_slot {
	struct batch batch;
	void *note;
};

struct batch_scan {
	const struct batch_scan_params *params;
	struct batch_list batches;
	struct batch_reader *readers; /* of each thread */
	unsigned jobs;		      /* how many there are */
	struct batch_slot *items;     /* a ring */
	char *notes;
	unsigned slots;
	uint64_t next; /* the item to put in */
};

static void scan_release(struct batch_scan *scan)
{
	for (unsigned i = 0; i < scan->jobs; i++)
		free(scan->readers[i].memory);
	free(scan->readers);
	free(scan->items);
	free(scan->notes);
}

static int scan_prepare(struct batch_scan *scan)
{
	const struct batch_scan_params *params = scan->params;
	void *memory;
	int r;

	/* Enough that a slow batch keeps no thread waiting. */
	scan->slots = 4 * params->jobs;
	scan->readers = calloc(params->jobs, sizeof(*scan->readers));
	scan->items = calloc(scan->slots, sizeof(*scan->items));
	scan->notes = calloc(scan->slots, params->note_size);
	if (!scan->readers || !scan->items || !scan->notes)
		return -ENOMEM;
	r = reader_prepare(dataset_reader(params->dataset), READER_AUTO);
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
	const struct batch_slot *item = pointer;

	scan->params->work(scan->params->context, worker, &item->batch, &scan->readers[worker],
			   item->note);
}

/* The next batch, in its place in the ring: 1, 0 at the end, or what scan_begin() returned. */
static int scan_begin(struct batch_scan *scan, struct batch_slot **ret)
{
	const struct batch_scan_params *params = scan->params;
	unsigned slot = (unsigned)(scan->next % scan->slots);
	struct batch_slot *item = &scan->items[slot];
	int r = 0;

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
	r = pipeline_new(&piped, &pipeline);
	if (r < 0)
		return r;
	do {
		while (r == 0 && !ended && pipeline_has_room(pipeline, 0)) {
			r = scan_begin(&scan, &item);
			ended = r != 1;
			if (r == 1) {
				pipeline_put(pipeline, item, 0);
				r = 0;
			}
		}
		item = r == 0 ? pipeline_take(pipeline) : NULL;
		if (item)
			r = params->done(params->context, &item->batch, item->note);
	} while (r == 0 && item);
	pipeline_free(pipeline);
	return r;
}

unsigned batch_scan_jobs(uint64_t asked)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t jobs = processors > (long)JOBS_LEAST ? (uint64_t)processors : JOBS_LEAST;

	return (unsigned)min(asked ? asked : jobs, JOBS_MOST);
}
