/* Putting a run together: extents by rising number, as long as one read should bring them.
 *
 * Their offsets rise, too, but for files of up to 2 KB: LMDB keeps those in its leaf pages, and
 * fills a page from its end. So an extent may also lie right before the last one, and behind what
 * came before that fell so: no two of a run overlap. */
#pragma once

#include "base/math.h"
#include "cache/plan/page.h"
#include "cache/plan/plan.h"

struct plan_run_builder {
	const struct plan_view *view;
	const struct prefetch_budget *budget;
	uint64_t room;	     /* bytes of memory that are left */
	uint64_t begin, end; /* offsets: the lowest, and past the highest */
	uint64_t floor, low; /* between these, extents may still fall */
	struct plan_run *run;
};

static inline uint32_t plan_size(const struct plan_view *view, uint64_t extent)
{
	return plan_extent(view, extent).size;
}

/* In memory, on its way, or left to another forecast. */
static inline bool plan_have(const struct plan_view *view, uint64_t extent)
{
	return view->have(view->context, extent) ||
	       (view->left && view->left(view->left_to, extent));
}

/* Memory that an extent takes: it is kept with what lies before it in its first page. */
static inline uint64_t plan_memory_of(const struct plan_view *view, const struct extent *e)
{
	uint64_t grain = view->grain;

	return grain ? (e->offset % CACHE_PAGE + e->size + grain - 1) / grain * grain : e->size;
}

static inline uint64_t plan_memory(const struct plan_view *view, uint64_t number)
{
	const struct extent e = plan_extent(view, number);

	return plan_memory_of(view, &e);
}

/* Begins an empty run of at most `room` bytes of memory in *run. */
static inline struct plan_run_builder plan_run_begin(const struct plan_view *view,
						     const struct prefetch_budget *budget,
						     enum plan_forecast forecast, uint64_t room,
						     struct plan_run *run)
{
	run->forecast = forecast;
	run->follower = 0;
	run->wanted = PLAN_NONE;
	run->count = 0;
	run->bytes = 0;
	return (struct plan_run_builder){
		.view = view, .budget = budget, .room = room, .begin = UINT64_MAX, .run = run};
}

static inline bool plan_run_joins(const struct plan_run_builder *builder, const struct extent *e)
{
	const struct prefetch_budget *budget = builder->budget;
	uint64_t end = e->offset + e->size;

	if (e->offset >= builder->end)
		return e->offset - builder->end <= budget->gap &&
		       e->offset - builder->begin < budget->run;
	return e->offset >= builder->floor && end <= builder->low &&
	       builder->low - end <= budget->gap;
}

/* False if the extent does not belong to this read any more. */
static inline bool plan_run_add(struct plan_run_builder *builder, uint64_t extent)
{
	const struct extent e = plan_extent(builder->view, extent);
	uint64_t memory = plan_memory_of(builder->view, &e);
	struct plan_run *run = builder->run;

	if (run->count == PLAN_RUN_EXTENTS || memory > builder->room)
		return false;
	if (run->count && !plan_run_joins(builder, &e))
		return false;
	if (e.offset >= builder->end)
		builder->floor = builder->end;
	builder->low = e.offset;
	builder->begin = min(builder->begin, e.offset);
	builder->end = max(builder->end, e.offset + e.size);
	builder->room -= memory;
	run->extents[run->count++] = extent;
	run->bytes += e.size;
	return true;
}
