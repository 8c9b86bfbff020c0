#include "pack/tool/read/batch_scan.h"

#include "base/scope.h"
#include "pack/tool/cli/pipeline.h"
#include <string.h>

#define JOBS_LEAST 8u
#define JOBS_MOST  256u

/* One batch on its way. */
struct batch_slot {
	struct batch batch;
	void *note;
};

struct batch_scan {
	const struct batch_scan_params *params;
	struct batch_list *batches;
	struct batch_reader *readers; /* of each thread */
	unsigned jobs;		      /* how many there are */
	struct batch_slot *items;     /* a ring */
	char *notes;
	unsigned slots;
	uint64_t next; /* the item to put in */
	bool ended;
};

static void scan_release(struct batch_scan *scan)
{
	for (unsigned i = 0; i < scan->jobs; i++)
		batch_reader_release(&scan->readers[i]);
	free(scan->readers);
	free(scan->items);
	free(scan->notes);
	batch_list_free(scan->batches);
}

static int scan_prepare(struct batch_scan *scan)
{
	const struct batch_scan_params *params = scan->params;
	int r;

	/* Enough that a slow batch keeps no thread waiting. */
	scan->slots = 4 * params->jobs;
	scan->readers = calloc(params->jobs, sizeof(*scan->readers));
	scan->items = calloc(scan->slots, sizeof(*scan->items));
	scan->notes = calloc(scan->slots, params->note_size);
	if (!scan->readers || !scan->items || !scan->notes)
		return -ENOMEM;
	r = batch_list_new(params->dataset, params->files, params->count, &scan->batches);
	for (; r == 0 && scan->jobs < params->jobs; scan->jobs++)
		r = batch_reader_init(&scan->readers[scan->jobs], params->dataset);
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

	if (!batch_list_next(scan->batches, &item->batch))
		return 0;
	scan->next++;
	item->note = scan->notes + slot * params->note_size;
	memset(item->note, 0, params->note_size);
	if (params->begin)
		r = params->begin(params->context, &item->batch, item->note);
	*ret = item;
	return r == 0 ? 1 : r;
}

static int scan_finish(const struct batch_scan *scan, const struct batch_slot *item)
{
	return scan->params->done(scan->params->context, &item->batch, item->note);
}

static int scan_fill(struct batch_scan *scan, struct pipeline *pipeline)
{
	struct batch_slot *item;
	int r = 1;

	while (r == 1 && !scan->ended && pipeline_has_room(pipeline, 0)) {
		r = scan_begin(scan, &item);
		if (r == 1)
			pipeline_put(pipeline, item, 0);
		else
			scan->ended = true;
	}
	return r < 0 ? r : 0;
}

static int scan_run(struct batch_scan *scan)
{
	const struct pipeline_params params = {
		.workers = scan->jobs, .slots = scan->slots, .work = scan_work, .context = scan};
	struct pipeline *pipeline;
	struct batch_slot *item;
	int r = pipeline_new(&params, &pipeline);

	if (r < 0)
		return r;
	do {
		r = scan_fill(scan, pipeline);
		item = r == 0 ? pipeline_take(pipeline) : NULL;
		if (item)
			r = scan_finish(scan, item);
	} while (r == 0 && item);
	pipeline_free(pipeline);
	return r;
}

int batch_scan(const struct batch_scan_params *params)
{
	SCOPE(scan_release) struct batch_scan scan = {.params = params};
	int r = scan_prepare(&scan);

	if (r < 0)
		return r;
	return scan_run(&scan);
}

unsigned batch_scan_jobs(uint64_t asked)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned jobs = processors > (long)JOBS_LEAST ? (unsigned)processors : JOBS_LEAST;

	if (asked > 0)
		jobs = asked < JOBS_MOST ? (unsigned)asked : JOBS_MOST;
	return jobs < JOBS_MOST ? jobs : JOBS_MOST;
}
