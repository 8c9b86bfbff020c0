/* Putting a run together: extents by rising offset, as long as one read should bring them. */
#ifndef CACHE_PLAN_PLAN_RUN_H
#define CACHE_PLAN_PLAN_RUN_H

#include "cache/page.h"
#include "cache/plan/plan.h"

/* A read is of whole pages: devices take requests up to a power of two at once. */
#define PLAN_PAGES (2 * CACHE_PAGE)

struct plan_run_builder {
	const struct plan_view *view;
	const struct plan_limits *limits;
	uint64_t room;	     /* bytes of memory that are left */
	uint64_t begin, end; /* offsets of the first extent, and behind the last one */
	struct plan_run *run;
};

static inline uint32_t plan_size(const struct plan_view *view, uint64_t extent)
{
	uint64_t offset;
	uint32_t size;

	view->locate(view->context, extent, &offset, &size);
	return size;
}

/* That an extent takes: it is kept with what lies before it in its first page. */
static inline uint64_t plan_memory(uint64_t grain, uint64_t offset, uint32_t size)
{
	return grain ? (offset % CACHE_PAGE + size + grain - 1) / grain * grain : size;
}

/* Begins an empty run of at most `room` bytes in *run. */
static inline struct plan_run_builder plan_run_begin(const struct plan_view *view,
						     const struct plan_limits *limits,
						     uint64_t room, struct plan_run *run)
{
	run->due = false;
	run->count = 0;
	run->bytes = 0;
	return (struct plan_run_builder){.view = view, .limits = limits, .room = room, .run = run};
}

/* False where the extent does not belong to this read any more. */
static inline bool plan_run_add(struct plan_run_builder *builder, uint64_t extent)
{
	struct plan_run *run = builder->run;
	uint64_t offset, memory;
	uint32_t size;

	builder->view->locate(builder->view->context, extent, &offset, &size);
	memory = plan_memory(builder->limits->grain, offset, size);
	if (run->count == PLAN_RUN_EXTENTS || memory > builder->room)
		return false;
	if (run->count && (offset < builder->end || offset - builder->end > builder->limits->gap ||
			   offset + size - builder->begin + PLAN_PAGES > builder->limits->run))
		return false;
	if (run->count == 0)
		builder->begin = offset;
	run->extents[run->count++] = extent;
	run->bytes += size;
	builder->room -= memory;
	builder->end = offset + size;
	return true;
}

/* Places of a list of extents, by rising offset; without a list, the extents of these numbers. */
struct plan_cut {
	uint64_t first, end;
};

/* The part of `all` that is read together with one place: it is cut into runs from its beginning,
 * so that none has to read around what another has read. */
static inline struct plan_cut plan_cut_around(const struct plan_view *view,
					      const struct plan_limits *limits,
					      const uint32_t *list, struct plan_cut all,
					      uint64_t place)
{
	uint64_t at = all.first, first = at, begin = 0, offset;
	uint32_t size;

	for (; at < all.end; at++) {
		view->locate(view->context, list ? list[at] : at, &offset, &size);
		if (at > first && offset + size - begin + PLAN_PAGES <= limits->run)
			continue;
		if (at > place)
			break;
		first = at;
		begin = offset;
	}
	return (struct plan_cut){.first = first, .end = at};
}

#endif
