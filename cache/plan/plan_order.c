/* Who knows the order could read each file just before it is asked for. On a device whose requests
 * are dear that is one request a file. So files are read in chunks: the next ones to come that are
 * not there, as many bytes as there is room for, by rising offset, in runs.
 *
 * How large is a chunk? A request costs as much as G bytes (limits->gap). Data D of files of the
 * mean size s, of which a chunk takes C: its files are d = D s / C apart. One by one a file costs
 * G + s, and read along with what lies between at most d. At random distances the next one is near
 * enough for 1 - exp(-(G + s) / d) of them: for two in five from d = 2 (G + s), or
 *
 *	C* = D s / 2 (G + s)
 *
 * on, and nearly all at 4 C*; then a chunk costs a pass over the data, the same for any C: the
 * larger, the fewer passes. A first chunk of START bytes shows D s = C d, of files drawn at random
 * as of files in a row. Where G < s, or the room is less than C*, there is not much to be had from
 * large chunks: they are of START bytes, in order of need, and limits->pace bytes ahead of the
 * readers.
 *
 * Else chunks double, so that the first files come soon, up to C* / GROWN, which costs a fraction
 * of a pass all together. From then on passes never end: what the readers have used makes room for
 * what comes then, which is listed too (TOP_UP), and read as soon as the pass comes by there, as an
 * elevator takes in who has called meanwhile. Who waits for a listed file has its run read at once
 * (plan_order_around), which costs the pass nothing.
 *
 * How much is listed, of a room R? A file waits for the pass for half of its time T on the average,
 * and takes no memory until then. If readers take P bytes in a pass, P / 2 of what is listed has
 * its room when the pass comes by: a window of W = R + P / 2 is listed or there, of which readers
 * have W in T, as no file waits longer. So P grows to 2 R, where a window of R gives R, and halves,
 * of which one is read while the other is used, R / 2. In the first pass R / 2 is taken for P, if
 * readers are as fast as the device: more would fill the room with what comes late. What finds no
 * room stays listed. Readers that find nearly all of it there have enough in R: P is 0.
 *
 * Slow readers need no pass after the other. One begins when half of the room can be filled, or
 * what comes next is missing (`hungry`). The room is shared alike between forecasts: who has
 * more than that of it reads nothing until it was used. */
#include "cache/plan/plan_order.h"
#include "cache/plan/plan_chunk.h"
#include <errno.h>
#include <string.h>

#define START  ((uint64_t)8 << 20)
#define GROWN  4
#define TOP_UP 8  /* parts of the room: what comes is listed when the window has one more */
#define MISSED 64 /* part of what readers take that was listed and not there */
#define PLENTY (UINT64_MAX / 4)

void plan_order_init(struct plan_order *order, const struct plan_params *params)
{
	*order = (struct plan_order){.extents = params->view.extents};
}

void plan_order_release(struct plan_order *order)
{
	while (order->count)
		plan_chunk_free(order->chunks[--order->count]);
}

int plan_order_follow(struct plan_order *order, const struct forecast *forecast)
{
	struct plan_chunk *chunk;
	int r;

	if (order->count == PLAN_FORECASTS)
		return -ENOSPC;
	r = plan_chunk_new(forecast, order->extents, &chunk);
	if (r < 0)
		return r;
	chunk->grown = START;
	order->chunks[order->count++] = chunk;
	return 0;
}

void plan_order_leave(struct plan_order *order, const struct forecast *forecast)
{
	unsigned at = 0;

	while (at < order->count && order->chunks[at]->forecast != forecast)
		at++;
	if (at == order->count)
		return;
	plan_chunk_free(order->chunks[at]);
	order->count--;
	memmove(&order->chunks[at], &order->chunks[at + 1],
		(order->count - at) * sizeof(order->chunks[0]));
}

/* More is to be planned of it: of the last files, some of which may never be asked for, until
 * nothing was found. */
static bool is_active(const struct plan_chunk *chunk)
{
	bool found_all = chunk->rest && !chunk->hungry && forecast_ended(chunk->forecast);

	return !found_all && !forecast_lost(chunk->forecast);
}

bool plan_order_demand(struct plan_order *order, const struct plan_view *view, uint64_t extent)
{
	bool has = false;
	uint64_t file;

	if (order->count == 0)
		return false;
	file = plan_kin_of(view, extent).file;
	for (unsigned i = 0; i < order->count; i++) {
		struct plan_chunk *chunk = order->chunks[i];

		if (!forecast_has(chunk->forecast, file))
			continue;
		has = has || is_active(chunk);
		plan_chunk_demand(chunk, view, extent, file);
	}
	return has;
}

bool plan_order_has(const struct plan_order *order, const struct plan_view *view, uint64_t extent)
{
	uint64_t file;

	if (order->count == 0)
		return false;
	file = plan_kin_of(view, extent).file;
	for (unsigned i = 0; i < order->count; i++)
		if (forecast_has(order->chunks[i]->forecast, file) && is_active(order->chunks[i]))
			return true;
	return false;
}

/* --- how much -------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Of the room that there is for all, used or not. */
static uint64_t share_of_room(const struct plan_order *order, const struct plan_limits *limits)
{
	uint64_t all = least(limits->order, PLENTY);
	unsigned active = 0;

	for (unsigned i = 0; i < order->count; i++) {
		all += order->chunks[i]->ahead;
		active += is_active(order->chunks[i]);
	}
	return active ? all / active : 0;
}

/* What one of them may have of it. */
static uint64_t room_of(const struct plan_chunk *chunk, const struct plan_limits *limits,
			uint64_t share)
{
	return least(limits->order, less(share, chunk->ahead));
}

/* C*, bytes, by what a request costs now. */
static uint64_t dear_from(const struct plan_chunk *chunk, const struct plan_limits *limits)
{
	return (uint64_t)(chunk->apart / 2 / (double)(limits->gap + chunk->mean));
}

static bool is_dear(const struct plan_chunk *chunk, const struct plan_limits *limits,
		    uint64_t share)
{
	return chunk->apart > 0 && limits->gap >= chunk->mean &&
	       dear_from(chunk, limits) <= least(share, PLAN_CHUNK_MOST * chunk->mean);
}

/* Less than the room for a long run is none: it would be filled by many short ones. */
static uint64_t least_room(const struct plan_limits *limits, uint64_t share)
{
	return least(limits->run, share / 2);
}

/* To go on with a chunk: readers, and who has taken of its room meanwhile, give some back. */
static bool has_room(const struct plan_order *order, const struct plan_chunk *chunk,
		     const struct plan_limits *limits)
{
	uint64_t share = share_of_room(order, limits);

	return limits->order >= least(least(limits->run, share / TOP_UP), chunk->left);
}

/* What it may list where requests are dear. */
static uint64_t window_of(const struct plan_chunk *chunk, uint64_t share)
{
	return less(share + chunk->pass / 2, chunk->ahead);
}

static uint64_t cheap_size(const struct plan_chunk *chunk, const struct plan_limits *limits)
{
	uint64_t wanted = limits->pace ? less(limits->pace, chunk->ahead) : UINT64_MAX;

	if (wanted == 0 && !chunk->hungry)
		return 0;
	return least(wanted > limits->run ? wanted : limits->run, START);
}

static bool is_growing(const struct plan_chunk *chunk, const struct plan_limits *limits)
{
	return chunk->grown < dear_from(chunk, limits) / GROWN;
}

static uint64_t dear_size(const struct plan_chunk *chunk, const struct plan_limits *limits,
			  uint64_t share, uint64_t room)
{
	if (is_growing(chunk, limits))
		return chunk->hungry || room >= chunk->grown ? least(room, chunk->grown) : 0;
	return chunk->hungry || room >= share / 2 ? window_of(chunk, share) : 0;
}

/* Bytes that the next chunk is to have; 0: it does not begin yet. */
static uint64_t next_size(const struct plan_order *order, const struct plan_chunk *chunk,
			  const struct plan_limits *limits)
{
	uint64_t share = share_of_room(order, limits);
	uint64_t room = room_of(chunk, limits, share);

	if (!is_active(chunk) || room < least_room(limits, share) ||
	    (chunk->rest && !chunk->hungry))
		return 0;
	if (chunk->apart == 0)
		return least(room, START);
	if (is_dear(chunk, limits, share))
		return dear_size(chunk, limits, share, room);
	return least(room, cheap_size(chunk, limits));
}

/* --- chunks and runs -------------------------------------------------------------------------- */

/* P, judging by the chunk that was read last. One of those that grow shows whether readers take all
 * that the device gives. */
static uint64_t taken_in_pass(const struct plan_chunk *chunk, const struct plan_limits *limits,
			      uint64_t share)
{
	double part;

	if (chunk->missed < chunk->taken / MISSED)
		return 0;
	if (!is_growing(chunk, limits) || chunk->memory == 0)
		return chunk->taken;
	part = (double)least(chunk->taken, chunk->memory) / (double)chunk->memory;
	return (uint64_t)((double)share / 2 * part);
}

static bool begin_chunk(const struct plan_order *order, struct plan_chunk *chunk,
			const struct plan_view *view, const struct plan_limits *limits)
{
	uint64_t share = share_of_room(order, limits), size;

	chunk->pass = taken_in_pass(chunk, limits, share);
	size = next_size(order, chunk, limits);
	if (size == 0)
		return false;
	chunk->taken = chunk->missed = 0;
	chunk->dear = is_dear(chunk, limits, share);
	if (!plan_chunk_cut(chunk, view, limits, size))
		return false;
	chunk->apart = (double)chunk->span * (double)chunk->mean;
	chunk->open = true;
	chunk->spare = less(size, chunk->memory);
	if (chunk->grown < PLENTY && size >= chunk->grown)
		chunk->grown *= 2;
	return true;
}

/* Lists what the window has now as well; the pass goes on where it is. */
static void top_up(const struct plan_order *order, struct plan_chunk *chunk,
		   const struct plan_view *view, const struct plan_limits *limits)
{
	uint64_t share = share_of_room(order, limits);
	uint64_t window = window_of(chunk, share);

	if (!chunk->open || !chunk->dear || !is_active(chunk) || is_growing(chunk, limits) ||
	    share < TOP_UP || less(window, chunk->left + chunk->spare) < share / TOP_UP)
		return;
	plan_chunk_cut(chunk, view, limits, window);
	plan_chunk_go_on(chunk);
	chunk->spare = less(window, chunk->memory);
}

static bool next_of(const struct plan_order *order, struct plan_chunk *chunk,
		    const struct plan_view *view, const struct plan_limits *limits,
		    struct plan_run *ret)
{
	if (forecast_lost(chunk->forecast))
		return false;
	top_up(order, chunk, view, limits);
	do {
		if (has_room(order, chunk, limits) && plan_chunk_run(chunk, view, limits, ret))
			return true;
		if (chunk->at < chunk->end)
			return false;
		chunk->open = false;
	} while (begin_chunk(order, chunk, view, limits));
	return false;
}

bool plan_order_next(struct plan_order *order, const struct plan_view *view,
		     const struct plan_limits *limits, struct plan_run *ret)
{
	for (unsigned i = 0; i < order->count; i++) {
		unsigned at = (order->turn + i) % order->count;

		if (next_of(order, order->chunks[at], view, limits, ret)) {
			order->turn = at + 1;
			return true;
		}
	}
	return false;
}

bool plan_order_wants(const struct plan_order *order, const struct plan_limits *limits)
{
	for (unsigned i = 0; i < order->count; i++) {
		const struct plan_chunk *chunk = order->chunks[i];

		if (chunk->at == chunk->end && next_size(order, chunk, limits) > 0)
			return true;
		if (chunk->at < chunk->end && has_room(order, chunk, limits) &&
		    !forecast_lost(chunk->forecast))
			return true;
	}
	return false;
}

bool plan_order_around(struct plan_order *order, const struct plan_view *view,
		       const struct plan_limits *limits, uint64_t extent, struct plan_run *ret)
{
	for (unsigned i = 0; i < order->count; i++)
		if (!forecast_lost(order->chunks[i]->forecast) &&
		    plan_chunk_around(order->chunks[i], view, limits, extent, ret))
			return true;
	return false;
}
