#include "cache/plan.h"
#include "cache/plan_near.h"
#include "cache/plan_once.h"
#include "cache/plan_scan.h"
#include <errno.h>
#include <stdlib.h>

struct plan {
	struct plan_view view;
	bool quiet; /* nothing is read ahead */
	struct plan_scan scan;
	struct plan_near near;
	struct plan_once once;
};

int plan_new(const struct plan_params *params, struct plan **ret)
{
	struct plan *plan = calloc(1, sizeof(*plan));

	if (!plan)
		return -ENOMEM;
	plan->view = params->view;
	plan->quiet = params->readahead == 0;
	plan_scan_init(&plan->scan, params->readahead);
	plan_near_init(&plan->near);
	if (plan_once_init(&plan->once, params) < 0) {
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
	plan_once_release(&plan->once);
	free(plan);
}

/* A scan within a directory is not read ahead beyond what is foreseen of that. */
static void hold_scan(struct plan_scan *scan)
{
	scan->streams[scan->last].window = 0;
}

void plan_demand(struct plan *plan, uint64_t extent)
{
	bool scan = plan_scan_demand(&plan->scan, &plan->view, extent);

	plan_near_demand(&plan->near, &plan->view, extent);
	if (plan_near_foresees(&plan->near))
		hold_scan(&plan->scan);
	plan_once_demand(&plan->once, &plan->view, extent, scan);
}

void plan_preload(struct plan *plan)
{
	plan_once_preload(&plan->once);
}

/* A preload is wished for by itself, and for one pass. */
static bool is_quiet(const struct plan *plan)
{
	return plan->quiet && !plan->once.preload;
}

bool plan_wants(const struct plan *plan, const struct plan_limits *limits)
{
	return !is_quiet(plan) && (plan_scan_wants(&plan->scan) || plan_near_wants(&plan->near) ||
				   plan_once_wants(&plan->once, limits));
}

bool plan_next(struct plan *plan, const struct plan_limits *limits, struct plan_run *ret)
{
	return !is_quiet(plan) && (plan_scan_next(&plan->scan, &plan->view, limits, ret) ||
				   plan_near_next(&plan->near, &plan->view, limits, ret) ||
				   plan_once_next(&plan->once, &plan->view, limits, ret));
}

bool plan_around(struct plan *plan, const struct plan_limits *limits, uint64_t extent,
		 struct plan_run *ret)
{
	return !is_quiet(plan) && plan_once_around(&plan->once, &plan->view, limits, extent, ret);
}

uint64_t plan_preloaded(const struct plan *plan)
{
	return plan->once.preload ? plan->once.bytes + plan->once.ahead : 0;
}

uint64_t plan_epoch(const struct plan *plan)
{
	return plan->once.epoch;
}
