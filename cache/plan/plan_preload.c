/* One pass over the pack, by number, through however many epochs readers go meanwhile. What they
 * were served is left out. If memory does not suffice, the pass goes on for the rest of that epoch
 * as readers free some. In the next one they want that again, and the preload is over. */
#include "cache/plan/plan_preload.h"
#include "base/math.h"

#define SAMPLE 65536 /* extents that are looked at where all would take long */

void plan_preload_epoch(struct plan_preload *preload)
{
	const struct plan_view *view = preload->view;
	bool ends = preload->full || preload->cursor == view->extents;

	/* Or the readers' next epoch wants again what they were served. */
	for (uint64_t at = 0; !ends && at < view->extents; at += view->extents / SAMPLE + 1)
		ends = view->served(view->context, at) && !view->have(view->context, at) &&
		       !plan_is_kept(view, at);
	if (ends)
		*preload = (struct plan_preload){.view = view};
}

static bool is_wanted(const struct plan_view *view, uint64_t extent)
{
	return !view->have(view->context, extent) && !view->served(view->context, extent);
}

static uint64_t next_wanted(void *wanted, uint64_t at)
{
	const struct plan_preload *preload = wanted;
	uint64_t end = preload->view->extents;

	at = max(at, preload->cursor);
	while (at < end && !is_wanted(preload->view, at))
		at++;
	return at < end ? at : PLAN_NONE;
}

/* A run has no more than this. */
static uint64_t wanted_before(void *wanted, uint64_t until)
{
	const struct plan_preload *preload = wanted;
	uint64_t least = max(preload->cursor, sub_sat(until, PLAN_RUN_EXTENTS));

	while (until > least)
		if (is_wanted(preload->view, --until))
			return until;
	return PLAN_NONE;
}

void plan_preload_begin(struct plan_preload *preload)
{
	const struct plan_view *view = preload->view;

	*preload = (struct plan_preload){
		.view = view,
		.active = true,
		.elevator = {.view = view,
			     .forecast = PLAN_PRELOAD,
			     .wanted = preload,
			     .next = next_wanted,
			     .before = wanted_before},
	};
}

static void pass(struct plan_preload *preload, uint64_t end)
{
	while (preload->cursor < end)
		preload->bytes += plan_size(preload->view, preload->cursor++);
}

/* Less than the room for a long run is no room: it would be filled by many short ones. */
bool plan_preload_wants(const struct plan_preload *preload, const struct prefetch_budget *budget)
{
	return preload->active && preload->cursor < preload->view->extents &&
	       budget->sweep >= budget->run;
}

bool plan_preload_next(struct plan_preload *preload, const struct prefetch_budget *budget,
		       struct plan_run *ret)
{
	uint64_t extents = preload->view->extents;

	preload->full |= budget->sweep < budget->run;
	if (!plan_preload_wants(preload, budget))
		return false;
	pass(preload, min(next_wanted(preload, 0), extents));
	return preload->cursor < extents &&
	       elevator_from(&preload->elevator, budget, budget->sweep, preload->cursor, ret);
}

bool plan_preload_around(struct plan_preload *preload, const struct prefetch_budget *budget,
			 uint64_t extent, struct plan_run *ret)
{
	return plan_preload_wants(preload, budget) &&
	       elevator_around(&preload->elevator, budget, budget->sweep, extent, ret);
}

void plan_preload_commit(struct plan_preload *preload, const struct plan_run *run,
			 unsigned accepted)
{
	if (accepted && run->wanted == PLAN_NONE)
		pass(preload, elevator_end(&preload->elevator, run, accepted));
}
