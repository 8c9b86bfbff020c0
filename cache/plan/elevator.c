#include "cache/plan/elevator.h"

/* A part of the pack. */
struct block {
	uint64_t number;
	bool by_count; /* else by bytes */
	bool seeks;    /* a request costs as much as this extent, which is in it: */
	uint64_t offset;
};

/* The last extent may end behind the block: a block is so much shorter than a read. */
#define TAIL 16

/* What lies so far apart may be in two files, where order by number is not order by offset. */
#define ELSEWHERE ((uint64_t)1 << 29)
/* So many that lie elsewhere are passed over in a row; but few where a large pack may be all that
 * there is. */
#define PASSED 4096
#define FEW    4

static uint64_t apart(uint64_t a, uint64_t b)
{
	return max(a, b) - min(a, b);
}

static struct block block_of(const struct plan_view *view, const struct prefetch_budget *budget,
			     uint64_t extent)
{
	uint64_t bytes = budget->run - budget->run / TAIL, number = extent / PLAN_RUN_EXTENTS;
	uint64_t first = number * PLAN_RUN_EXTENTS, last = first + PLAN_RUN_EXTENTS - 1;
	const struct extent at = plan_extent(view, extent);
	struct block block = {.offset = at.offset, .seeks = budget->gap >= at.size};

	block.by_count = last < view->extents && apart(plan_extent(view, last).offset,
						       plan_extent(view, first).offset) < bytes;
	block.number = block.by_count ? number : at.offset / bytes;
	return block;
}

/* The first wanted extent of the block from `at` on; or, not `up`, the last one before. PLAN_NONE:
 * there is none. */
static uint64_t find_in(const struct elevator *e, const struct prefetch_budget *budget,
			const struct block *block, uint64_t at, bool up)
{
	unsigned passed = 0;

	for (;;) {
		uint64_t extent = up ? e->next(e->wanted, at) : e->before(e->wanted, at);
		struct block its;

		if (extent == PLAN_NONE)
			return PLAN_NONE;
		its = block_of(e->view, budget, extent);
		if (its.number == block->number && its.by_count == block->by_count)
			return extent;
		/* What lies elsewhere is passed over. */
		passed += (its.offset > block->offset) == up ? PASSED / FEW : 1;
		if (!block->seeks || passed > PASSED ||
		    apart(its.offset, block->offset) <= ELSEWHERE)
			return PLAN_NONE;
		at = up ? extent + 1 : extent;
	}
}

bool elevator_from(const struct elevator *e, const struct prefetch_budget *budget, uint64_t room,
		   uint64_t extent, struct plan_run *ret)
{
	struct plan_run_builder builder = plan_run_begin(e->view, budget, e->forecast, room, ret);
	const struct block block = block_of(e->view, budget, extent);

	while (extent != PLAN_NONE && plan_run_add(&builder, extent))
		extent = find_in(e, budget, &block, extent + 1, true);
	return ret->count > 0;
}

bool elevator_around(const struct elevator *e, const struct prefetch_budget *budget, uint64_t room,
		     uint64_t extent, struct plan_run *ret)
{
	struct plan_run_builder builder = plan_run_begin(e->view, budget, e->forecast, room, ret);
	const struct block block = block_of(e->view, budget, extent);
	/* The first extent of the block that is wanted, or the one that must be read. */
	uint64_t at = extent, before = extent;

	do {
		at = before;
		before = find_in(e, budget, &block, at, false);
	} while (before != PLAN_NONE);

	/* What does not fit divides the block: the part with the extent counts. */
	while (at != PLAN_NONE) {
		uint64_t next;

		if (!plan_run_add(&builder, at)) {
			if (at > extent)
				break;
			builder = plan_run_begin(e->view, budget, e->forecast, room, ret);
			if (!plan_run_add(&builder, at) && at == extent)
				break;
		}
		next = find_in(e, budget, &block, at + 1, true);
		at = at < extent && next > extent ? extent : next;
	}
	ret->wanted = extent;
	return ret->count > 1;
}

uint64_t elevator_end(const struct elevator *e, const struct plan_run *run, unsigned accepted)
{
	uint64_t end = run->extents[0] + 1;

	for (unsigned i = 1; i < accepted; i++) {
		uint64_t passed = end < run->extents[i] ? e->next(e->wanted, end) : end;

		if (passed < run->extents[i])
			return passed;
		end = run->extents[i] + 1;
	}
	return end;
}

void elevator_commit(const struct elevator *e, const struct plan_run *run, unsigned accepted,
		     uint64_t *cursor)
{
	if (accepted && run->wanted == PLAN_NONE)
		*cursor = elevator_end(e, run, accepted);
	for (unsigned i = 0; i < accepted; i++)
		if (run->extents[i] != run->wanted)
			e->plan(e->wanted, run->extents[i]);
}
