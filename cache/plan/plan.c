#include "cache/plan/plan.h"
#include "cache/plan/plan_order.h"
#include "cache/plan/plan_preload.h"
#include "cache/plan/plan_scan.h"
#include "cache/plan/plan_sweep.h"
#include <errno.h>
#include <stdlib.h>

struct plan {
	struct plan_view view;
	struct plan_view others; /* for scan and sweep: what `order` has is left to it */
	bool quiet;		 /* nothing is read ahead, but by a preload */
	struct plan_order order;
	struct plan_scan scan;
	struct plan_sweep sweep;
	struct plan_preload preload;
};

static bool is_ordered(const void *order, uint64_t extent)
{
	return plan_order_has(order, extent);
}

int plan_new(const struct plan_params *params, struct plan **ret)
{
	struct plan *plan = calloc(1, sizeof(*plan));

	if (!plan)
		return -ENOMEM;
	plan->view = params->view;
	plan->others = params->view;
	plan->others.left = is_ordered;
	plan->others.left_to = &plan->order;
	plan->quiet = params->readahead == 0;
	plan->order.view = plan->preload.view = &plan->view;
	plan_scan_init(&plan->scan, &plan->others, params->readahead);
	if (plan_sweep_init(&plan->sweep, &plan->others, params) < 0) {
		free(plan);
		return -ENOMEM;
	}
	*ret = plan;
	return 0;
}

void plan_free(struct plan *plan)
{
	if (!plan)
		return;
	plan_order_release(&plan->order);
	plan_sweep_release(&plan->sweep);
	free(plan);
}

/* What the sweep expects follows from the same demands, without their order. */
int plan_follow(struct plan *plan, const void *id, struct forecast *forecast)
{
	int r = plan_order_follow(&plan->order, id, forecast);

	if (r == 0)
		plan_sweep_restart(&plan->sweep);
	return r;
}

struct forecast *plan_leave(struct plan *plan, const void *id)
{
	struct forecast *forecast = plan_order_leave(&plan->order, id);

	if (forecast)
		plan_sweep_restart(&plan->sweep);
	return forecast;
}

struct plan_order *plan_known_orders(struct plan *plan)
{
	return &plan->order;
}

void plan_demand(struct plan *plan, uint64_t extent)
{
	uint64_t epoch = plan->sweep.epoch;
	bool ordered = plan_order_demand(&plan->order, extent);
	bool scan = plan_scan_demand(&plan->scan, extent);

	if (ordered) { /* it is read ahead by no scan */
		plan->scan.streams[plan->scan.last].window = 0;
		plan_sweep_count(&plan->sweep, extent);
	} else {
		plan_sweep_demand(&plan->sweep, extent, scan);
	}
	if (plan->sweep.epoch != epoch)
		plan_preload_epoch(&plan->preload);
}

void plan_preload(struct plan *plan)
{
	plan_preload_begin(&plan->preload);
}

/* A preload was asked for by itself. */
bool plan_wants(const struct plan *plan, const struct prefetch_budget *budget)
{
	return plan_preload_wants(&plan->preload, budget) ||
	       (!plan->quiet &&
		(plan_order_wants(&plan->order, budget) || plan_scan_wants(&plan->scan) ||
		 plan_sweep_wants(&plan->sweep, budget)));
}

bool plan_next(struct plan *plan, const struct prefetch_budget *budget, struct plan_run *ret)
{
	if (!plan->quiet && (plan_order_next(&plan->order, budget, ret) ||
			     plan_scan_next(&plan->scan, budget, ret)))
		return true;
	return plan_preload_next(&plan->preload, budget, ret) ||
	       (!plan->quiet && plan_sweep_next(&plan->sweep, budget, ret));
}

bool plan_around(struct plan *plan, const struct prefetch_budget *budget, uint64_t extent,
		 struct plan_run *ret)
{
	if (!plan->quiet && plan_order_around(&plan->order, budget, extent, ret))
		return true;
	return plan_preload_around(&plan->preload, budget, extent, ret) ||
	       (!plan->quiet && plan_sweep_around(&plan->sweep, budget, extent, ret));
}

void plan_commit(struct plan *plan, const struct plan_run *run, unsigned accepted)
{
	switch (run->forecast) {
	case PLAN_ORDER:
		plan_order_commit(&plan->order, run, accepted);
		break;
	case PLAN_SCAN:
		plan_scan_commit(&plan->scan, run, accepted);
		break;
	case PLAN_SWEEP:
		plan_sweep_commit(&plan->sweep, run, accepted);
		break;
	case PLAN_PRELOAD:
		plan_preload_commit(&plan->preload, run, accepted);
		break;
	}
}

uint64_t plan_preloaded(const struct plan *plan)
{
	return plan->preload.bytes;
}

uint64_t plan_epoch(const struct plan *plan)
{
	return plan->sweep.epoch;
}
