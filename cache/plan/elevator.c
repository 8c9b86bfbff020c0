#include "cache/plan/elevator.h"

/* A part of the pack. */
struct block {
	const struct elevator *elevator;
	uint64_t bytes, number;
};

/* The last extent may end behind the block: a block is so much shorter than a read. */
#define TAIL 16

static struct block block_of(const struct elevator *e, const struct prefetch_budget *budget,
			     uint64_t extent)
{
	uint64_t bytes = budget->run - budget->run / TAIL;

	return (struct block){.elevator = e,
			      .bytes = bytes,
			      .number = plan_extent(e->view, extent).offset / bytes};
}

static bool is_in(const struct block *block, uint64_t extent)
{
	return extent != PLAN_NONE &&
	       plan_extent(block->elevator->view, extent).offset / block->bytes == block->number;
}

bool elevator_from(const struct elevator *e, const struct prefetch_budget *budget, uint64_t room,
		   uint64_t extent, struct plan_run *ret)
{
	struct plan_run_builder builder = plan_run_begin(e->view, budget, e->forecast, room, ret);
	const struct block block = block_of(e, budget, extent);

	while (is_in(&block, extent) && plan_run_add(&builder, extent))
		extent = e->next(e->wanted, e->view, extent + 1);
	return ret->count > 0;
}

/* The first extent of the block that is wanted, or the one that must be read. */
static uint64_t first_of(const struct block *block, uint64_t extent)
{
	const struct elevator *e = block->elevator;
	uint64_t first = extent, before = extent;

	do {
		first = before;
		before = e->before(e->wanted, e->view, first);
	} while (is_in(block, before));
	return first;
}

bool elevator_around(const struct elevator *e, const struct prefetch_budget *budget, uint64_t room,
		     uint64_t extent, struct plan_run *ret)
{
	struct plan_run_builder builder = plan_run_begin(e->view, budget, e->forecast, room, ret);
	const struct block block = block_of(e, budget, extent);
	uint64_t at = first_of(&block, extent);

	/* What does not fit divides the block: the part with the extent counts. */
	while (is_in(&block, at)) {
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
