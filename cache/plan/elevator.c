#include "cache/plan/elevator.h"

/* A part of the pack. */
struct block {
	uint64_t number;
	bool by_count; /* else by bytes */
};

/* The last extent may end behind the block: a block is so much shorter than a read. */
#define TAIL 16

static struct block block_of(const struct plan_view *view, const struct prefetch_budget *budget,
			     uint64_t extent)
{
	uint64_t bytes = budget->run - budget->run / TAIL, number = extent / PLAN_RUN_EXTENTS;
	uint64_t first = number * PLAN_RUN_EXTENTS, last = first + PLAN_RUN_EXTENTS - 1;

	if (last < view->extents &&
	    sub_sat(plan_extent(view, last).offset, plan_extent(view, first).offset) < bytes)
		return (struct block){.number = number, .by_count = true};
	return (struct block){.number = plan_extent(view, extent).offset / bytes};
}

static bool is_in(const struct elevator *e, const struct prefetch_budget *budget,
		  const struct block *block, uint64_t extent)
{
	struct block its;

	if (extent == PLAN_NONE)
		return false;
	its = block_of(e->view, budget, extent);
	return its.number == block->number && its.by_count == block->by_count;
}

bool elevator_from(const struct elevator *e, const struct prefetch_budget *budget, uint64_t room,
		   uint64_t extent, struct plan_run *ret)
{
	struct plan_run_builder builder = plan_run_begin(e->view, budget, e->forecast, room, ret);
	const struct block block = block_of(e->view, budget, extent);

	while (is_in(e, budget, &block, extent) && plan_run_add(&builder, extent))
		extent = e->next(e->wanted, e->view, extent + 1);
	return ret->count > 0;
}

/* The first extent of the block that is wanted, or the one that must be read. */
static uint64_t first_of(const struct elevator *e, const struct prefetch_budget *budget,
			 const struct block *block, uint64_t extent)
{
	uint64_t first = extent, before = extent;

	do {
		first = before;
		before = e->before(e->wanted, e->view, first);
	} while (is_in(e, budget, block, before));
	return first;
}

bool elevator_around(const struct elevator *e, const struct prefetch_budget *budget, uint64_t room,
		     uint64_t extent, struct plan_run *ret)
{
	struct plan_run_builder builder = plan_run_begin(e->view, budget, e->forecast, room, ret);
	const struct block block = block_of(e->view, budget, extent);
	uint64_t at = first_of(e, budget, &block, extent);

	/* What does not fit divides the block: the part with the extent counts. */
	while (is_in(e, budget, &block, at)) {
		uint64_t next;

		if (!plan_run_add(&builder, at)) {
			if (at > extent)
				break;
			builder = plan_run_begin(e->view, budget, e->forecast, room, ret);
			if (!plan_run_add(&builder, at) && at == extent)
				break;
		}
		next = e->next(e->wanted, e->view, at + 1);
		at = at < extent && next > extent ? extent : next;
	}
	ret->wanted = extent;
	return ret->count > 1;
}

void elevator_commit(const struct elevator *e, const struct plan_run *run, unsigned accepted,
		     uint64_t *cursor)
{
	for (unsigned i = 0; i < accepted; i++)
		if (run->extents[i] != run->wanted)
			e->plan(e->wanted, e->view, run->extents[i]);
	if (accepted && run->wanted == PLAN_NONE)
		*cursor = run->extents[accepted - 1] + 1;
}
