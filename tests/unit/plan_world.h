/* A pack and what became of it, for tests of the planner: world_run() notes what was planned and
 * holds every run to what each of them has to keep. At the end: words of stories. */
#pragma once

#include "cache/plan/plan.h"
#include "tests/unit/story.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KIB	((uint64_t)1 << 10)
#define MIB	((uint64_t)1 << 20)
#define MOST	65536u	    /* extents */
#define LARGEST (200 * KIB) /* of photos() */

struct world {
	struct plan_view view;
	struct prefetch_budget budget;
	uint64_t offsets[MOST];
	uint32_t sizes[MOST];
	bool pooled[MOST];		     /* in memory, or on its way */
	bool served[MOST];		     /* once, in full */
	uint16_t asked[MOST], planned[MOST]; /* how often */
	uint64_t demands, hits;		     /* hits: of what was planned before */
	uint64_t asked_bytes;		     /* each extent once */
	uint64_t runs, bytes;		     /* planned */
	uint64_t ahead;			     /* bytes planned and not asked for until now */
	uint64_t most_extents, most_span;    /* of one run */
	uint64_t looks;			     /* how often the planner asked about an extent */
	uint64_t passed;		     /* extents that readers went past */
	struct plan_run last;
};

static struct world the_world;

static inline void world_resolve(void *context, uint64_t number, struct extent *ret)
{
	const struct world *w = context;

	assert_true(number < w->view.extents);
	*ret = (struct extent){.number = number,
			       .offset = w->offsets[number],
			       .file = number,
			       .file_end = number + 1,
			       .size = w->sizes[number]};
}

static inline bool world_have(void *context, uint64_t number)
{
	struct world *w = context;

	assert_true(number < w->view.extents);
	w->looks++;
	return w->pooled[number];
}

static inline bool world_served(void *context, uint64_t number)
{
	const struct world *w = context;

	assert_true(number < w->view.extents);
	return w->served[number];
}

static inline void world_passed(void *context, uint64_t number)
{
	struct world *w = context;

	assert_true(number < w->view.extents);
	w->passed++;
}

/* `extents` of a size between the two, one after the other, and room for all. */
static inline struct world *world_of(uint64_t extents, uint32_t smallest, uint32_t largest)
{
	struct world *w = &the_world;
	uint64_t offset = 0;

	assert_true(extents <= MOST);
	memset(w, 0, sizeof(*w));
	srandom(5);
	w->view = (struct plan_view){.extents = extents,
				     .context = w,
				     .resolve = world_resolve,
				     .have = world_have,
				     .served = world_served,
				     .passed = world_passed};
	w->budget = (struct prefetch_budget){
		.run = MIB, .gap = 128 * KIB, .scan = NO_END, .sweep = NO_END, .order = NO_END};
	for (uint64_t i = 0; i < extents; i++) {
		w->offsets[i] = offset;
		w->sizes[i] = smallest + (uint32_t)random() % (largest - smallest + 1);
		offset += w->sizes[i];
	}
	return w;
}

/* Files as LMDB keeps them in leaf pages, each of which it fills from its end. */
static inline struct world *leaf_pages(uint64_t extents)
{
	struct world *w = world_of(extents, 600, 600);

	for (uint64_t e = 0; e < extents; e++)
		w->offsets[e] = e / 6 * 4096 + 4096 - (e % 6 + 1) * 610;
	return w;
}

/* Photographs: 110 KB on average. */
static inline struct world *photos(uint64_t extents)
{
	return world_of(extents, 20 << 10, LARGEST);
}

static inline uint64_t total_bytes(const struct world *w)
{
	uint64_t bytes = 0;

	for (uint64_t e = 0; e < w->view.extents; e++)
		bytes += w->sizes[e];
	return bytes;
}

/* Leaves a gap before the extent, or, where `by` is (uint64_t)-n, has it overlap by n. */
static inline void move_from(struct world *w, uint64_t extent, uint64_t by)
{
	for (uint64_t e = extent; e < w->view.extents; e++)
		w->offsets[e] += by;
}

/* Notes that somebody asks for the extent, which is in memory from then on. */
static inline void world_ask(struct world *w, uint64_t extent)
{
	w->demands++;
	w->hits += w->planned[extent] > 0;
	if (!w->asked[extent]++) {
		w->asked_bytes += w->sizes[extent];
		w->ahead -= w->planned[extent] ? w->sizes[extent] : 0;
	}
	w->pooled[extent] = true;
}

static inline uint64_t end_of(const struct world *w, uint64_t extent)
{
	return w->offsets[extent] + w->sizes[extent];
}

/* A pack, and a delta of every so manieth file, which lies behind it. */
static inline struct world *changed_photos(uint64_t extents, uint64_t every)
{
	struct world *w = photos(extents);
	uint64_t at = end_of(w, extents - 1) + 2048 * MIB;

	for (uint64_t e = every / 2; e < extents; e += every) {
		w->offsets[e] = at;
		at += w->sizes[e];
	}
	return w;
}

/* The offsets of a run's first `count` extents. */
static inline void span_of_first(const struct world *w, const struct plan_run *run, unsigned count,
				 uint64_t *begin, uint64_t *end)
{
	*begin = UINT64_MAX;
	*end = 0;
	for (unsigned i = 0; i < count; i++) {
		uint64_t extent = run->extents[i];

		*begin = w->offsets[extent] < *begin ? w->offsets[extent] : *begin;
		*end = end_of(w, extent) > *end ? end_of(w, extent) : *end;
	}
}

/* An extent of the run lies apart from those before it, and near. */
static inline void assert_apart_and_near(const struct world *w, const struct plan_run *run,
					 unsigned at)
{
	uint64_t extent = run->extents[at], begin, end;

	assert_true(extent > run->extents[at - 1]);
	for (unsigned i = 0; i < at; i++)
		assert_true(w->offsets[extent] >= end_of(w, run->extents[i]) ||
			    end_of(w, extent) <= w->offsets[run->extents[i]]);
	span_of_first(w, run, at, &begin, &end);
	assert_true(w->offsets[extent] <= end + w->budget.gap);
	assert_true(end_of(w, extent) + w->budget.gap >= begin);
}

/* Bytes of the read that brings the run: whole pages, and the gaps too. */
static inline uint64_t span_of(const struct world *w, const struct plan_run *run)
{
	uint64_t begin, end;

	span_of_first(w, run, run->count, &begin, &end);
	return (end + 4095) / 4096 * 4096 - begin / 4096 * 4096;
}

/* The extents begin within as many bytes as a run has. */
static inline void assert_begin_near(const struct world *w, const struct plan_run *run)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (unsigned i = 0; i < run->count; i++) {
		uint64_t offset = w->offsets[run->extents[i]];

		first = offset < first ? offset : first;
		last = offset > last ? offset : last;
	}
	assert_true(last - first < w->budget.run);
}

/* Notes a run, for which there was `room`. */
static inline void world_run(struct world *w, const struct plan_run *run, uint64_t room)
{
	uint64_t bytes = 0;

	assert_in_range(run->count, 1, PLAN_RUN_EXTENTS);
	for (unsigned i = 0; i < run->count; i++) {
		uint64_t extent = run->extents[i];

		assert_true(extent < w->view.extents);
		assert_false(w->pooled[extent]);
		if (i)
			assert_apart_and_near(w, run, i);
		w->pooled[extent] = true;
		w->planned[extent]++;
		bytes += w->sizes[extent];
	}
	assert_int_equal(bytes, run->bytes);
	assert_true(bytes <= room);
	assert_begin_near(w, run);
	w->runs++;
	w->bytes += bytes;
	w->ahead += bytes;
	w->last = *run;
	if (run->count > w->most_extents)
		w->most_extents = run->count;
	if (span_of(w, run) > w->most_span)
		w->most_span = span_of(w, run);
}

/* The pool lets go of everything, and the notes begin anew. */
static inline void forget_pool(struct world *w)
{
	memset(w->pooled, 0, sizeof(w->pooled));
	memset(w->asked, 0, sizeof(w->asked));
	memset(w->planned, 0, sizeof(w->planned));
	w->demands = w->hits = w->asked_bytes = w->runs = w->bytes = w->ahead = 0;
}

/* Demands in a random order until the sweep has found all blocks, each by its first one: of B
 * blocks they are fewer than B (ln B + 3) in 95 of 100 orders. */
static inline uint64_t demands_that_find(const struct world *w, unsigned block)
{
	double blocks = ceil((double)w->view.extents / block);

	return (uint64_t)(blocks * (log(blocks) + 3));
}

/* Bytes that were planned and that nobody asked for. */
static inline uint64_t wasted(const struct world *w)
{
	uint64_t bytes = 0;

	for (uint64_t e = 0; e < w->view.extents; e++)
		bytes += w->planned[e] && !w->asked[e] ? w->sizes[e] : 0;
	return bytes;
}

/* Of each so manieth extent. */
static inline uint64_t planned_of(const struct world *w, uint64_t from, uint64_t to, uint64_t step)
{
	uint64_t count = 0;

	for (uint64_t e = from; e < to; e += step)
		count += w->planned[e] > 0;
	return count;
}

static inline uint64_t planned_in(const struct world *w, uint64_t from, uint64_t to)
{
	return planned_of(w, from, to, 1);
}

/* Extents. */
static inline uint64_t planned_twice(const struct world *w)
{
	uint64_t count = 0;

	for (uint64_t e = 0; e < w->view.extents; e++)
		count += w->planned[e] > 1;
	return count;
}

static inline void assert_nothing_planned_twice(const struct world *w)
{
	assert_int_equal(planned_twice(w), 0);
}

/* Numbers below `count` in a random order; valid until the next call. */
static inline const uint32_t *shuffled(uint32_t count)
{
	static uint32_t order[MOST];

	assert_true(count <= MOST);
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	for (uint32_t i = count; i > 1; i--) {
		uint32_t j = (uint32_t)random() % i, swap = order[i - 1];

		order[i - 1] = order[j];
		order[j] = swap;
	}
	return order;
}

/* --- words of stories --------------------------------------------------------------------------
 */

GET(runs, the_world.runs)
GET(bytes, the_world.bytes)
GET(hits, the_world.hits)
GET(missed, the_world.demands - the_world.hits)
GET(mean, the_world.bytes / the_world.runs)
GET(unread, total_bytes(&the_world) - the_world.bytes)
GET(wasted, wasted(&the_world))
GET(ahead, the_world.ahead)
GET(planned, planned_of(&the_world, n[0], n[1], n[2] ? n[2] : 1))
GET(passed, the_world.passed)
GET(extents, the_world.most_extents)
GET(span, the_world.most_span)
GET(first, the_world.last.extents[0])
GET(count, the_world.last.count)
GET(looks, the_world.looks)

GET(twice, planned_twice(&the_world))

DOES(run, the_world.budget.run = n[0])
DOES(gap, the_world.budget.gap = n[0])
DOES(recount, the_world.runs = the_world.bytes = the_world.looks = 0)

/* Each so manieth of them is in memory; was served. */
DO(pool)
{
	for (uint64_t e = n[0]; e < n[1]; e += n[2])
		the_world.pooled[e] = true;
}

DO(serve)
{
	for (uint64_t e = n[0]; e < n[1]; e += n[2] ? n[2] : 1)
		the_world.served[e] = true;
}

/* For scans, for the sweep, and for known orders. */
DO(room)
{
	the_world.budget.scan = n[0];
	the_world.budget.sweep = n[1];
	the_world.budget.order = n[2];
}
