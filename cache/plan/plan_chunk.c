/* Looking for what is to be read takes time, under the lock: where requests are cheap LISTED
 * extents are listed at once, for many chunks; where they are dear, up to PLAN_CHUNK_MOST are
 * listed and sorted, some 10 ms, about as long as one request. Where nothing was found, a quarter
 * as many files must be asked for before it is looked for again.
 *
 * A file that is planned and leaves the pool unread, evicted or failed, is planned once more, and
 * then no more: a bad one would be the next file for ever.
 *
 * By rising number stands for by rising offset: a pack that others rewrote may jump, and costs more
 * requests. The chunk is cut into runs at places that do not depend on what of it was read, so that
 * one of them can be read before its turn, and leaves no pieces. */
#include "cache/plan/plan_chunk.h"
#include "cache/plan/plan_run.h"
#include <errno.h>
#include <stdlib.h>

#define LISTED 16384  /* extents */
#define LOOK   262144 /* files that are looked at for one list */
#define SOON   64     /* files that are all there, as long as readers are not hungry, */
#define PERIOD 32     /* which is seen to after so many demands */
#define SAMPLE 16     /* files that show how far they are apart */
#define RECENT 256    /* files that tell what the kernel still has */

enum mark {
	QUEUED = 1,  /* in the list; not handed out, and not asked for meanwhile */
	PLANNED = 2, /* was handed out, */
	TWICE = 4,   /* and again */
	AHEAD = 8,   /* is counted in `ahead` */
	ASKED = 16,  /* for a file, by its first extent */
};

int plan_chunk_new(const struct forecast *forecast, uint64_t extents, struct plan_chunk **ret)
{
	struct plan_chunk *chunk = calloc(1, sizeof(*chunk));

	if (!chunk)
		return -ENOMEM;
	*chunk = (struct plan_chunk){
		.forecast = forecast,
		.marks = calloc(1, extents + 1),
		.list = malloc(PLAN_CHUNK_MOST * sizeof(*chunk->list)),
		.hungry = true,
		.position = forecast_position(forecast),
	};
	if (!chunk->marks || !chunk->list) {
		plan_chunk_free(chunk);
		return -ENOMEM;
	}
	*ret = chunk;
	return 0;
}

void plan_chunk_free(struct plan_chunk *chunk)
{
	if (!chunk)
		return;
	free(chunk->marks);
	free(chunk->list);
	free(chunk);
}

/* --- what is to be read ---------------------------------------------------------------------- */

/* Bytes that an extent takes; grains do not change. */
static uint64_t memory_of(const struct plan_chunk *chunk, const struct plan_view *view,
			  uint64_t extent)
{
	uint64_t offset;
	uint32_t size;

	view->locate(view->context, extent, &offset, &size);
	return plan_memory(chunk->grain, offset, size);
}

/* The kernel has let go of most of what it had: nearly all that passes is asked for. */
static bool let_go(const struct plan_chunk *chunk)
{
	return chunk->lost >= RECENT / 16 && chunk->lost >= chunk->moved / 4 * 3;
}

static bool is_due(const struct plan_chunk *chunk, const struct plan_view *view, uint64_t extent)
{
	return !(chunk->marks[extent] & TWICE) && !view->have(view->context, extent) &&
	       (let_go(chunk) || !plan_is_kept(view, extent));
}

struct search {
	struct plan_chunk *chunk;
	const struct plan_view *view;
	uint64_t memory; /* bytes left to be found */
	uint32_t most;	 /* extents */
	uint32_t looked; /* files looked at, */
	uint32_t found;	 /* and found */
	uint64_t bytes;	 /* of these */
};

/* Puts an extent on the list. */
static void list_extent(struct search *search, uint32_t extent)
{
	struct plan_chunk *chunk = search->chunk;
	uint64_t offset, memory;
	uint32_t size;

	search->view->locate(search->view->context, extent, &offset, &size);
	memory = plan_memory(chunk->grain, offset, size);
	search->memory -= memory < search->memory ? memory : search->memory;
	search->bytes += size;
	chunk->marks[extent] |= QUEUED;
	chunk->list[chunk->count++] = extent;
}

static bool list_file(void *arg, uint32_t file)
{
	struct search *search = arg;
	struct plan_chunk *chunk = search->chunk;
	uint32_t before = chunk->count, end = (uint32_t)plan_kin_of(search->view, file).file_end;

	for (uint32_t extent = file; extent < end && chunk->count < search->most; extent++)
		if (is_due(chunk, search->view, extent))
			list_extent(search, extent);
	search->found += chunk->count > before;
	return ++search->looked < LOOK && chunk->count < search->most && search->memory > 0;
}

static void drop_list(struct plan_chunk *chunk)
{
	for (uint32_t i = chunk->at; i < chunk->count; i++)
		chunk->marks[chunk->list[i]] &= (uint8_t)~QUEUED;
	chunk->first = chunk->at = chunk->end = chunk->count = 0;
	chunk->left = 0;
}

/* Lists what comes next, for one chunk or for some. */
static void make_list(struct plan_chunk *chunk, struct search *search)
{
	drop_list(chunk);
	forecast_coming(chunk->forecast, list_file, search);
	chunk->rest = search->found ? 0 : search->looked / 4 + PERIOD;
	if (search->found)
		chunk->mean = search->bytes / search->found + 1;
}

/* It is neither there nor, where requests are cheap, listed for one of the next chunks. */
static bool is_missing(const struct plan_chunk *chunk, const struct plan_view *view,
		       uint64_t extent)
{
	return is_due(chunk, view, extent) && (chunk->dear || !(chunk->marks[extent] & QUEUED));
}

struct soon {
	const struct plan_chunk *chunk;
	const struct plan_view *view;
	unsigned left; /* files to look at */
	bool missing;
};

static bool look_at(void *arg, uint32_t file)
{
	struct soon *soon = arg;
	uint64_t end = plan_kin_of(soon->view, file).file_end;

	for (uint64_t extent = file; extent < end && !soon->missing; extent++)
		soon->missing = is_missing(soon->chunk, soon->view, extent);
	return !soon->missing && --soon->left > 0;
}

/* What is wanted next is not there. */
static bool is_hungry(const struct plan_chunk *chunk, const struct plan_view *view)
{
	struct soon soon = {.chunk = chunk, .view = view, .left = SOON};

	forecast_coming(chunk->forecast, look_at, &soon);
	return soon.missing;
}

/* --- demands --------------------------------------------------------------------------------- */

static void note_kernel(struct plan_chunk *chunk, bool kept)
{
	uint32_t position = forecast_position(chunk->forecast);

	chunk->moved += position - chunk->position;
	chunk->lost += kept;
	chunk->position = position;
	if (chunk->moved < RECENT)
		return;
	chunk->lost = (uint32_t)((uint64_t)chunk->lost * (RECENT / 2) / chunk->moved);
	chunk->moved = RECENT / 2;
}

/* Once a file, however many reads there are. */
static void ask_file(struct plan_chunk *chunk, const struct plan_view *view, uint64_t extent)
{
	if (chunk->marks[extent] & ASKED)
		return;
	chunk->marks[extent] |= ASKED;
	note_kernel(chunk, plan_is_kept(view, extent));
	if (chunk->rest)
		chunk->rest--;
	if (++chunk->demands % PERIOD == 0 && chunk->at == chunk->end)
		chunk->hungry = is_hungry(chunk, view);
}

void plan_chunk_demand(struct plan_chunk *chunk, const struct plan_view *view, uint64_t extent,
		       uint64_t file)
{
	uint8_t *mark = &chunk->marks[extent];
	uint64_t memory = *mark & (QUEUED | AHEAD) ? memory_of(chunk, view, extent) : 0;

	if (chunk->at < chunk->end) {
		chunk->taken += memory;
		chunk->missed += *mark & QUEUED ? memory : 0;
	}
	if (*mark & AHEAD)
		chunk->ahead -= memory;
	*mark &= (uint8_t) ~(QUEUED | AHEAD);
	if (extent == file)
		ask_file(chunk, view, extent);
}

/* --- chunks ---------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

static uint32_t place_from(const struct plan_chunk *chunk, uint64_t extent)
{
	uint32_t low = chunk->first, high = chunk->end;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (chunk->list[middle] < extent)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* How far the files of the chunk are apart, but for the last few of an epoch. */
static void measure(struct plan_chunk *chunk, const struct plan_view *view)
{
	uint64_t begin, end;
	uint32_t size;

	if (chunk->memory / chunk->mean < SAMPLE && chunk->span)
		return;
	view->locate(view->context, chunk->list[chunk->first], &begin, &size);
	view->locate(view->context, chunk->list[chunk->end - 1], &end, &size);
	chunk->span = end + size > begin ? end + size - begin : size;
}

/* Cuts so many bytes off the list; false where it is empty. */
static bool cut_list(struct plan_chunk *chunk, const struct plan_view *view, uint64_t room)
{
	chunk->first = chunk->at = chunk->end;
	for (chunk->memory = 0; chunk->end < chunk->count; chunk->end++) {
		uint64_t memory = memory_of(chunk, view, chunk->list[chunk->end]);

		if (chunk->memory && chunk->memory + memory > room)
			break;
		chunk->memory += memory;
	}
	chunk->left = chunk->memory;
	if (chunk->first == chunk->end)
		return false;
	qsort(&chunk->list[chunk->first], chunk->end - chunk->first, sizeof(*chunk->list),
	      by_number);
	measure(chunk, view);
	return true;
}

bool plan_chunk_cut(struct plan_chunk *chunk, const struct plan_view *view,
		    const struct plan_limits *limits, uint64_t size)
{
	struct search search = {
		.chunk = chunk,
		.view = view,
		.memory = chunk->dear ? size : UINT64_MAX,
		.most = chunk->dear ? PLAN_CHUNK_MOST : LISTED,
	};

	chunk->grain = limits->grain;
	if (chunk->dear || chunk->hungry || chunk->end == chunk->count)
		make_list(chunk, &search);
	chunk->hungry = false;
	return cut_list(chunk, view, size);
}

void plan_chunk_go_on(struct plan_chunk *chunk)
{
	chunk->at = place_from(chunk, chunk->cursor);
}

/* --- runs ------------------------------------------------------------------------------------ */

static bool is_left(const struct plan_chunk *chunk, const struct plan_view *view, uint32_t extent)
{
	return chunk->marks[extent] & QUEUED && is_due(chunk, view, extent);
}

static void hand_out(struct plan_chunk *chunk, const struct plan_view *view, uint64_t extent)
{
	uint8_t *mark = &chunk->marks[extent];

	if (!(*mark & AHEAD))
		chunk->ahead += memory_of(chunk, view, extent);
	*mark = (uint8_t)((*mark & ~QUEUED) | AHEAD | (*mark & PLANNED ? TWICE : PLANNED));
}

static void pass(struct plan_chunk *chunk, const struct plan_view *view)
{
	uint32_t extent = chunk->list[chunk->at++];
	uint64_t memory = memory_of(chunk, view, extent);

	chunk->marks[extent] &= (uint8_t)~QUEUED;
	chunk->left -= memory < chunk->left ? memory : chunk->left;
	chunk->cursor = extent + 1;
}

/* The part of the list that is read together with one place of it. */
static struct plan_cut cut_around(const struct plan_chunk *chunk, const struct plan_view *view,
				  const struct plan_limits *limits, uint32_t place)
{
	uint32_t first = place - (place - chunk->first) % PLAN_RUN_EXTENTS;
	uint32_t left = chunk->end - first;
	struct plan_cut all = {.first = first,
			       .end = first + (left < PLAN_RUN_EXTENTS ? left : PLAN_RUN_EXTENTS)};

	return plan_cut_around(view, limits, chunk->list, all, place);
}

static struct plan_run_builder begin_run(const struct plan_view *view,
					 const struct plan_limits *limits, struct plan_run *run)
{
	struct plan_run_builder builder = plan_run_begin(view, limits, limits->order, run);

	run->due = true;
	return builder;
}

bool plan_chunk_run(struct plan_chunk *chunk, const struct plan_view *view,
		    const struct plan_limits *limits, struct plan_run *ret)
{
	struct plan_run_builder builder = begin_run(view, limits, ret);
	struct plan_cut cut;

	while (chunk->at < chunk->end && !is_left(chunk, view, chunk->list[chunk->at]))
		pass(chunk, view);
	if (chunk->at == chunk->end)
		return false;
	cut = cut_around(chunk, view, limits, chunk->at);
	while (chunk->at < cut.end) {
		uint32_t extent = chunk->list[chunk->at];

		if (is_left(chunk, view, extent)) {
			if (!plan_run_add(&builder, extent))
				break;
			hand_out(chunk, view, extent);
		}
		pass(chunk, view);
	}
	return ret->count > 0;
}

/* A gap too long to read through divides what lies around: the part with the extent counts. */
static bool run_around(struct plan_chunk *chunk, const struct plan_view *view,
		       const struct plan_limits *limits, uint32_t place, struct plan_run *ret)
{
	struct plan_run_builder builder = begin_run(view, limits, ret);
	struct plan_cut cut = cut_around(chunk, view, limits, place);

	for (uint64_t at = cut.first; at < cut.end; at++) {
		if (at != place && !is_left(chunk, view, chunk->list[at]))
			continue;
		if (plan_run_add(&builder, chunk->list[at]))
			continue;
		if (at > place)
			break;
		builder = begin_run(view, limits, ret);
		if (!plan_run_add(&builder, chunk->list[at]) && at == place)
			return false;
	}
	for (unsigned i = 0; i < ret->count; i++)
		if (ret->extents[i] != chunk->list[place])
			hand_out(chunk, view, ret->extents[i]);
	return ret->count > 1;
}

bool plan_chunk_around(struct plan_chunk *chunk, const struct plan_view *view,
		       const struct plan_limits *limits, uint64_t extent, struct plan_run *ret)
{
	uint32_t place = place_from(chunk, extent);

	return place < chunk->end && chunk->list[place] == extent &&
	       run_around(chunk, view, limits, place, ret);
}
