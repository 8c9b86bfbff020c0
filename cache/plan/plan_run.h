/* Putting a run together: extents by rising number, as long as one read should bring them.
 *
 * Their offsets rise, too, but for files of up to 2 KB: LMDB keeps those in its leaf pages, and
 * fills a page from its end. So an extent may also lie right before the last one, and behind what
 * came before that fell so: no two of a run overlap. */
#pragma once

#include "base/math.h"
#include "cache/plan/page.h"
#include "cache/plan/plan_order.h"

/* A read is of whole pages; devices take requests up to a power of two at once. */
#define PLAN_PAGES (2 * CACHE_PAGE)

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

/* In memory, on its way, or left to a known order. */
static inline bool plan_have(const struct plan_view *view, uint64_t extent)
{
	return view->have(view->context, extent) ||
	       (view->ordered && plan_order_has(view->ordered, view, extent));
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
	uint64_t end = e->offset + e->size, gap = builder->budget->gap;

	if (e->offset >= builder->end)
		return e->offset - builder->end <= gap;
	return e->offset >= builder->floor && end <= builder->low && builder->low - end <= gap;
}

/* False if the extent does not belong to this read any more. */
static inline bool plan_run_add(struct plan_run_builder *builder, uint64_t extent)
{
	const struct prefetch_budget *budget = builder->budget;
	const struct extent e = plan_extent(builder->view, extent);
	uint64_t begin = min(builder->begin, e.offset), end = max(builder->end, e.offset + e.size);
	uint64_t memory = plan_memory_of(builder->view, &e);
	struct plan_run *run = builder->run;

	if (run->count == PLAN_RUN_EXTENTS || memory > builder->room)
		return false;
	if (run->count && (!plan_run_joins(builder, &e) || end - begin + PLAN_PAGES > budget->run))
		return false;
	if (e.offset >= builder->end)
		builder->floor = builder->end;
	builder->low = e.offset;
	builder->begin = begin;
	builder->end = end;
	builder->room -= memory;
	run->extents[run->count++] = extent;
	run->bytes += e.size;
	return true;
}

/* The same around an extent that must be among them, of candidates by rising number: what does not
 * fit divides them, and the part with the extent counts. False if no more can be added. */
static inline bool plan_run_add_around(struct plan_run_builder *builder, uint64_t wanted,
				       uint64_t extent)
{
	uint64_t room = builder->room;

	if (plan_run_add(builder, extent))
		return true;
	if (extent > wanted)
		return false;
	for (unsigned i = 0; i < builder->run->count; i++)
		room += plan_memory(builder->view, builder->run->extents[i]);
	*builder = plan_run_begin(builder->view, builder->budget, builder->run->forecast, room,
				  builder->run);
	return plan_run_add(builder, extent) || extent < wanted;
}

/* Whether it brings anything with the extent that is wanted. */
static inline bool plan_run_end_around(struct plan_run *run, uint64_t wanted)
{
	run->wanted = wanted;
	return run->count > 1;
}
