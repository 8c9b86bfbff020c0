/* Sequential scans among other readers.
 *
 * A demand e continues a stream whose next extent is n if n <= e <= n + SKIP: a scan may leave out
 * a label file, or what the page cache still holds. A demand up to BEHIND before n changes nothing:
 * threads overtake each other. Anything else starts a stream, in place of the one that has waited
 * longest. Shuffled orders hardly look like scans: of N extents, the next one continues a given
 * stream with probability (SKIP + 1) / N. Each of S streams lives for S demands, so
 * p = S * (SKIP + 1) / N of them go on once, and p^CONFIRM look like a scan. Of 20,000 extents that
 * is one demand in 15,000, and costs START bytes.
 *
 * The window doubles with each step, from START to the readahead limit, so a short scan costs
 * little. A run is planned only when less than half of the window is ahead of the reader, so that
 * runs stay long instead of one extent for each demand. */
#include "cache/plan/plan_scan.h"
#include "cache/plan/plan_run.h"
#include <stddef.h>

#define SKIP	4
#define BEHIND	32
#define CONFIRM 2
#define START	((uint64_t)512 << 10)

void plan_scan_init(struct plan_scan *scan, const struct plan_view *view, uint64_t readahead)
{
	*scan = (struct plan_scan){.view = view, .readahead = readahead};
	for (size_t i = 0; i < PLAN_STREAMS; i++)
		scan->streams[i].next = UINT64_MAX;
}

/* The stream that goes on at the extent, or (not *ret_on) the one that has waited longest. */
static struct plan_stream *find_stream(struct plan_scan *scan, uint64_t extent, bool *ret_on)
{
	struct plan_stream *oldest = &scan->streams[0];

	for (size_t i = 0; i < PLAN_STREAMS; i++) {
		struct plan_stream *s = &scan->streams[i];

		*ret_on = extent >= s->next ? extent - s->next <= SKIP : s->next - extent <= BEHIND;
		if (*ret_on)
			return s;
		if (s->used < oldest->used)
			oldest = s;
	}
	return oldest;
}

bool plan_scan_demand(struct plan_scan *scan, uint64_t extent)
{
	bool on;
	struct plan_stream *stream = find_stream(scan, extent, &on);

	if (!on) {
		*stream = (struct plan_stream){.next = extent + 1, .planned = extent + 1};
	} else if (extent >= stream->next) {
		/* The reader is at `extent`: what lies before is no longer ahead of it. */
		for (uint64_t e = stream->next; e <= extent && e < stream->planned; e++)
			stream->bytes -= plan_size(scan->view, e);
		stream->next = extent + 1;
		stream->planned = max(stream->planned, stream->next);
		if (++stream->steps >= CONFIRM)
			stream->window =
				min(stream->window ? stream->window * 2 : START, scan->readahead);
	}
	stream->again = scan->view->served(scan->view->context, extent);
	stream->used = ++scan->clock;
	scan->last = (unsigned)(stream - scan->streams);
	return on;
}

/* Less than half is ahead, in bytes or, with tiny files, in extents. */
static bool stream_is_hungry(const struct plan_stream *stream)
{
	return stream->window && stream->bytes <= stream->window / 2 &&
	       stream->planned - stream->next <= PLAN_AHEAD_EXTENTS / 2;
}

bool plan_scan_wants(const struct plan_scan *scan)
{
	return stream_is_hungry(&scan->streams[scan->last]);
}

static bool room_ahead(const struct plan_stream *stream, const struct plan_view *view)
{
	return stream->planned < view->extents && stream->bytes < stream->window &&
	       stream->planned - stream->next < PLAN_AHEAD_EXTENTS;
}

/* In memory, on its way, or in the page cache already. */
static bool scan_have(const struct plan_stream *stream, const struct plan_view *view,
		      uint64_t extent)
{
	return plan_have(view, extent) || (!stream->again && view->served(view->context, extent));
}

static void stream_plan(struct plan_stream *stream, const struct plan_view *view, uint64_t end)
{
	while (stream->planned < end)
		stream->bytes += plan_size(view, stream->planned++);
}

bool plan_scan_next(struct plan_scan *scan, const struct prefetch_budget *budget,
		    struct plan_run *ret)
{
	const struct plan_view *view = scan->view;

	for (size_t i = 0; i < PLAN_STREAMS; i++) {
		unsigned at = (unsigned)((scan->turn + i) % PLAN_STREAMS);
		struct plan_stream *stream = &scan->streams[at], after;
		struct plan_run_builder builder;

		if (!stream_is_hungry(stream))
			continue;
		builder = plan_run_begin(view, budget, PLAN_SCAN, budget->scan, ret);
		while (room_ahead(stream, view) && scan_have(stream, view, stream->planned))
			stream_plan(stream, view, stream->planned + 1);
		after = *stream;
		while (room_ahead(&after, view) && (scan_have(stream, view, after.planned) ||
						    plan_run_add(&builder, after.planned)))
			stream_plan(&after, view, after.planned + 1);
		if (ret->count == 0)
			continue;
		ret->follower = at;
		scan->turn = (at + 1) % PLAN_STREAMS;
		return true;
	}
	return false;
}

void plan_scan_commit(struct plan_scan *scan, const struct plan_run *run, unsigned accepted)
{
	if (accepted)
		stream_plan(&scan->streams[run->follower], scan->view,
			    run->extents[accepted - 1] + 1);
}
