#include "pack/tool/read/sweep.h"

#include "base/scope.h"
#include "pack/tool/cli/pipeline.h"
#include <string.h>

#define JOBS_LEAST 8u
#define JOBS_MOST  256u

/* One window on its way. */
struct item {
	struct window window;
	void *note;
};

struct sweep {
	const struct sweep_params *params;
	struct windows *windows;
	struct view *views; /* of each thread */
	unsigned jobs;	    /* how many there are */
	struct item *items; /* a ring */
	char *notes;
	unsigned slots;
	uint64_t next; /* the item to put in */
	bool ended;
};

static void release(struct sweep *sweep)
{
	for (unsigned i = 0; i < sweep->jobs; i++)
		view_release(&sweep->views[i]);
	free(sweep->views);
	free(sweep->items);
	free(sweep->notes);
	windows_free(sweep->windows);
}

static int prepare(struct sweep *sweep)
{
	const struct sweep_params *params = sweep->params;
	int r;

	/* So many that a slow one keeps no thread waiting. */
	sweep->slots = params->jobs == 1 ? 1 : 4 * params->jobs;
	sweep->views = calloc(params->jobs, sizeof(*sweep->views));
	sweep->items = calloc(sweep->slots, sizeof(*sweep->items));
	sweep->notes = calloc(sweep->slots, params->note_size);
	if (!sweep->views || !sweep->items || !sweep->notes)
		return -ENOMEM;
	r = windows_new(params->dataset, params->files, params->count, &sweep->windows);
	for (; r == 0 && sweep->jobs < params->jobs; sweep->jobs++)
		r = view_init(&sweep->views[sweep->jobs], params->dataset);
	return r;
}

static void work(void *context, unsigned worker, void *pointer)
{
	const struct sweep *sweep = context;
	const struct item *item = pointer;

	sweep->params->work(sweep->params->context, worker, &item->window, &sweep->views[worker],
			    item->note);
}

/* The next window, in its place in the ring: 1, 0 at the end, or what begin() returned. */
static int begin(struct sweep *sweep, struct item **ret)
{
	const struct sweep_params *params = sweep->params;
	unsigned slot = (unsigned)(sweep->next % sweep->slots);
	struct item *item = &sweep->items[slot];
	int r = 0;

	if (!windows_next(sweep->windows, &item->window))
		return 0;
	sweep->next++;
	item->note = sweep->notes + slot * params->note_size;
	memset(item->note, 0, params->note_size);
	if (params->begin)
		r = params->begin(params->context, &item->window, item->note);
	*ret = item;
	return r == 0 ? 1 : r;
}

static int finish(const struct sweep *sweep, const struct item *item)
{
	return sweep->params->done(sweep->params->context, &item->window, item->note);
}

static int run_alone(struct sweep *sweep)
{
	struct item *item;
	int r;

	while ((r = begin(sweep, &item)) == 1) {
		work(sweep, 0, item);
		r = finish(sweep, item);
		if (r != 0)
			return r;
	}
	return r;
}

static int fill(struct sweep *sweep, struct pipeline *pipeline)
{
	struct item *item;
	int r = 1;

	while (r == 1 && !sweep->ended && pipeline_has_room(pipeline, 0)) {
		r = begin(sweep, &item);
		if (r == 1)
			pipeline_put(pipeline, item, 0);
		else
			sweep->ended = true;
	}
	return r < 0 ? r : 0;
}

static int run_together(struct sweep *sweep)
{
	const struct pipeline_params params = {
		.workers = sweep->jobs, .slots = sweep->slots, .work = work, .context = sweep};
	struct pipeline *pipeline;
	struct item *item;
	int r = pipeline_new(&params, &pipeline);

	if (r < 0)
		return r;
	do {
		r = fill(sweep, pipeline);
		item = r == 0 ? pipeline_take(pipeline) : NULL;
		if (item)
			r = finish(sweep, item);
	} while (r == 0 && item);
	pipeline_free(pipeline);
	return r;
}

int sweep(const struct sweep_params *params)
{
	SCOPE(release) struct sweep sweep = {.params = params};
	int r = prepare(&sweep);

	if (r < 0)
		return r;
	return params->jobs == 1 ? run_alone(&sweep) : run_together(&sweep);
}

unsigned sweep_jobs(uint64_t asked)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned jobs = processors > (long)JOBS_LEAST ? (unsigned)processors : JOBS_LEAST;

	if (asked > 0)
		jobs = asked < JOBS_MOST ? (unsigned)asked : JOBS_MOST;
	return jobs < JOBS_MOST ? jobs : JOBS_MOST;
}
