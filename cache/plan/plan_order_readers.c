#include "cache/plan/plan_order_internal.h"
#include <stddef.h>

#define SURE 4 /* files, by which readers are known to have begun */

/* Of several that foresee a file the one that was fed last: the others do by chance. */
static struct plan_followed *find_foreseeing(struct plan_order *order, uint64_t file)
{
	struct plan_followed *found = NULL;

	for (unsigned i = 0; i < order->count; i++) {
		struct plan_followed *f = order->followed[i];

		if (forecast_foresees(f->forecast, file) && (!found || f->fed > found->fed))
			found = f;
	}
	return found;
}

/* What none foresees may be where readers go on. */
void plan_order_saw(struct plan_order *order, uint64_t file)
{
	struct plan_followed *f = find_foreseeing(order, file);

	order->seen++;
	if (f) {
		f->fed = order->seen;
		f->fed_by++;
		forecast_went_on(f->forecast, file);
		return;
	}
	for (unsigned i = 0; i < order->count; i++)
		forecast_went_on(order->followed[i]->forecast, file);
}

void plan_order_pushed(struct plan_order *order, uint64_t file)
{
	for (unsigned i = 0; i < order->count; i++)
		if (forecast_foresees(order->followed[i]->forecast, file))
			forecast_push(order->followed[i]->forecast, file);
}

static bool may_push(const struct plan_followed *f)
{
	return f->fed_by >= SURE && forecast_may_push(f->forecast);
}

bool plan_order_may_push(const struct plan_order *order)
{
	for (unsigned i = 0; i < order->count; i++)
		if (may_push(order->followed[i]))
			return true;
	return false;
}

void plan_order_to_push(const struct plan_order *order, forecast_take_fn *take, void *arg)
{
	for (unsigned i = 0; i < order->count; i++)
		if (may_push(order->followed[i]))
			forecast_coming(order->followed[i]->forecast, take, arg);
}
