/* Sequential scans among other readers.
 *
 * A demand e continues a stream whose next extent is n when n <= e <= n + SKIP: a scan may
 * leave out a label file or what the kernel still holds. One that falls a little behind
 * (threads overtake each other) changes nothing. Anything else starts a stream in place of the
 * one not fed for longest. Shuffled orders hardly look like scans: of N extents the next one
 * continues a given stream with probability (SKIP + 1) / N, and of S streams each lives for S
 * demands, so that p = S * (SKIP + 1) / N of them go on once and p^CONFIRM look like a scan. Of
 * 20,000 extents that is one demand in 15,000, and costs START bytes.
 *
 * The window doubles with each step, from START to the readahead limit, so that a short scan
 * costs little. A run is planned only when less than half the window is ahead of the reader:
 * then runs stay long instead of one extent for each demand. */
#include "cache/plan.h"
#include <stddef.h>

#define SKIP	4
#define BEHIND	32
#define CONFIRM 2
#define START	((uint64_t)512 << 10)

void plan_init(struct plan *plan, uint64_t readahead)
{
	*plan = (struct plan){.readahead = readahead};
	for (size_t i = 0; i < PLAN_STREAMS; i++)
		plan->streams[i].next = UINT64_MAX;
}

static struct plan_stream *stream_of(struct plan *plan, uint64_t extent)
{
	for (size_t i = 0; i < PLAN_STREAMS; i++) {
		struct plan_stream *s = &plan->streams[i];

		if (s->next == UINT64_MAX)
			continue;
		if (extent >= s->next ? extent - s->next <= SKIP : s->next - extent <= BEHIND)
			return s;
	}
	return NULL;
}

static struct plan_stream *oldest(struct plan *plan)
{
	struct plan_stream *found = &plan->streams[0];

	for (size_t i = 1; i < PLAN_STREAMS; i++)
		if (plan->streams[i].used < found->used)
			found = &plan->streams[i];
	return found;
}

static void widen(const struct plan *plan, struct plan_stream *stream)
{
	uint64_t wanted = stream->window ? stream->window * 2 : START;

	stream->window = wanted < plan->readahead ? wanted : plan->readahead;
}

static uint32_t size_of(const struct plan_view *view, uint64_t extent)
{
	uint64_t offset;
	uint32_t size;

	view->locate(view->context, extent, &offset, &size);
	return size;
}

/* The reader has come to `extent`: what lies before is no longer ahead of it. */
static void step(struct plan_stream *stream, const struct plan_view *view, uint64_t extent)
{
	for (uint64_t e = stream->next; e <= extent && e < stream->ahead; e++)
		stream->bytes -= size_of(view, e);
	stream->next = extent + 1;
	if (stream->ahead < stream->next)
		stream->ahead = stream->next;
	stream->steps++;
}

void plan_demand(struct plan *plan, const struct plan_view *view, uint64_t extent, bool again)
{
	struct plan_stream *stream = stream_of(plan, extent);

	if (!stream) {
		stream = oldest(plan);
		*stream = (struct plan_stream){.next = extent + 1, .ahead = extent + 1};
	} else if (extent >= stream->next) {
		step(stream, view, extent);
		if (stream->steps >= CONFIRM)
			widen(plan, stream);
	}
	stream->again = again;
	stream->used = ++plan->clock;
}

/* Whether `next` begins where, or shortly behind where, the extent before it ends. */
static bool follows(const struct plan_view *view, uint64_t next)
{
	uint64_t end, offset;
	uint32_t size;

	view->locate(view->context, next - 1, &end, &size);
	end += size;
	view->locate(view->context, next, &offset, &size);
	return offset >= end && offset - end <= PLAN_GAP_BYTES;
}

static bool room_ahead(const struct plan_stream *stream, const struct plan_view *view)
{
	return stream->ahead < view->extents && stream->bytes < stream->window &&
	       stream->ahead - stream->next < PLAN_AHEAD_EXTENTS;
}

static bool have(const struct plan_stream *stream, const struct plan_view *view)
{
	return view->have(view->context, stream->ahead, stream->again);
}

static uint32_t pass(struct plan_stream *stream, const struct plan_view *view)
{
	uint32_t size = size_of(view, stream->ahead++);

	stream->bytes += size;
	return size;
}

static bool run_of(struct plan_stream *stream, const struct plan_view *view, struct plan_run *ret)
{
	struct plan_run run = {0};

	while (room_ahead(stream, view) && have(stream, view))
		pass(stream, view);
	run.first = stream->ahead;
	while (room_ahead(stream, view) && run.bytes < PLAN_RUN_BYTES &&
	       run.count < PLAN_RUN_EXTENTS && !have(stream, view) &&
	       (run.count == 0 || follows(view, stream->ahead))) {
		run.bytes += pass(stream, view);
		run.count++;
	}
	if (run.count)
		*ret = run;
	return run.count > 0;
}

/* Less than half is ahead, in bytes or, with tiny files, in extents. */
static bool hungry(const struct plan_stream *stream)
{
	return stream->window && stream->bytes <= stream->window / 2 &&
	       stream->ahead - stream->next <= PLAN_AHEAD_EXTENTS / 2;
}

bool plan_next(struct plan *plan, const struct plan_view *view, struct plan_run *ret)
{
	for (size_t i = 0; i < PLAN_STREAMS; i++) {
		unsigned at = (unsigned)((plan->turn + i) % PLAN_STREAMS);

		if (hungry(&plan->streams[at]) && run_of(&plan->streams[at], view, ret)) {
			plan->turn = (at + 1) % PLAN_STREAMS;
			return true;
		}
	}
	return false;
}
