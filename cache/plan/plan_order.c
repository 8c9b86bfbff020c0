/* A reader whose order is known could have each file read just before it asks for it. Where a
 * request costs as much as many files, as on a hard disk, that is one expensive request a file. So
 * the planner keeps a window: the next files of the order that are missing, W bytes of memory. It
 * reads the window by rising number, in runs that include gaps of up to G bytes (budget->gap),
 * which cost less to read than another request. One algorithm serves all devices; only W differs.
 *
 * How large must W be? Files of mean size s, scattered over D bytes, lie d = D s / W apart in the
 * window. One by one, a file costs G + s; together with what lies between, at most d. Distances are
 * random, so the next file is near enough for 1 - exp(-(G + s) / d) of them: for two in five once
 * d = 2 (G + s), which is at
 *
 *	W* = D s / 2 (G + s)
 *
 * and for nearly all at 4 W*. From there on a window costs one sweep over D, however large it is,
 * and the larger it is, the fewer sweeps there are. The first windows, of START bytes, show D s.
 *
 * Throughput-bound (G < s, or W* exceeds the memory R; SSDs, object stores): large windows save
 * little. W is START, so files are read nearly in order of need, until budget->pace bytes are ahead
 * of the readers. A run that was handed out counts as ahead, so any number may be under way.
 *
 * Seek-bound: W doubles, so that the first files come soon, until it is W* / GROWN: all of these
 * together cost a fraction of a sweep; where memory holds all that is left, only the first one is
 * small, since one sweep is the epoch. From then on W is as large as memory allows, and sweeps
 * never end: as readers free memory, files are added to the window at once (TOP_UP), and the sweep
 * picks them up when it comes by, as an elevator stops for calls on its way. A reader that has to
 * wait for a file gets it at once, with the run around it (plan_order_around), which the sweep then
 * leaves out.
 *
 * How much does memory allow? In the window a file waits half a sweep on average, and needs no
 * memory until it is read. If readers take P bytes during a sweep, the memory for P / 2 is free by
 * the time it is needed: W = R + P / 2, listed or in memory. P then grows to 2 R. Windows of R
 * would give P = R; two halves, one read while the other is used, R / 2. The first sweep assumes
 * P = R / 2, if readers keep up with the device: more would fill memory with what is needed late.
 * What finds no memory stays in the window. If nearly all that readers ask for is there, P is 0.
 *
 * If readers are slow, the next sweep begins when half of the memory can be filled, or when a file
 * that is needed soon is missing. Forecasts share memory equally: one that has more than its share
 * reads nothing until its readers have used some.
 *
 * Two approximations. Order by number stands for order by offset within a file: in a pack that
 * other tools have rewritten, offsets may jump, which costs requests. A file that was read ahead
 * and left the pool unread is read ahead once more, and then not again, or a bad file would be the
 * next one forever. */
#include "cache/plan/plan_order.h"
#include "base/bits.h"
#include "base/math.h"
#include <errno.h>
#include <stdlib.h>

#define START	((uint64_t)8 << 20)
#define GROWN	4
#define TOP_UP	8    /* the window is filled up when it could take this part of memory */
#define MISSED	64   /* nearly all was there if less than this part of it was missing */
#define SAMPLE	16   /* files that show D s */
#define AT_ONCE 4096 /* files that are looked at in one call: 0.3 ms */
#define SOON	64   /* the next files: a missing one shows that files were evicted */
#define PERIOD	32   /* demands between two such checks */
#define BEHIND	256  /* files seen between two looks at what was passed */
#define RECENT	256  /* files that show whether the page cache still has what it was given */
#define SURE	4    /* files, by which readers are known to have begun */
#define PLENTY	(UINT64_MAX / 4)

/* Of an extent. */
enum mark {
	PLANNED = 1, /* was handed out, */
	TWICE = 2,   /* and again */
	AHEAD = 4,   /* counted in `ahead` */
	ASKED = 8,   /* by a file's first extent: a reader asked for it */
	TAKEN = 16,  /* one of this forecast did, foreseen or not: it is not read ahead again */
};

static void followed_free(struct plan_followed *f)
{
	free(f->window);
	free(f->words);
	free(f->marks);
	free(f);
}

void plan_order_release(struct plan_order *order)
{
	while (order->count)
		forecast_free(plan_order_leave(order, order->followed[0]->id));
}

struct forecast *plan_order_leave(struct plan_order *order, const void *id)
{
	struct forecast *forecast;
	unsigned at = 0;

	while (at < order->count && order->followed[at]->id != id)
		at++;
	if (at == order->count)
		return NULL;
	forecast = order->followed[at]->forecast;
	followed_free(order->followed[at]);
	order->followed[at] = order->followed[--order->count];
	return forecast;
}

/* Some of the last files of an epoch may never be asked for. */
static bool is_active(const struct plan_followed *f)
{
	return f->place < forecast_count(f->forecast) || f->listed || f->hungry ||
	       !forecast_ended(f->forecast);
}

bool plan_order_has(const struct plan_order *order, uint64_t extent)
{
	uint64_t file = order->count ? plan_extent(order->view, extent).file : extent;

	for (unsigned i = 0; i < order->count; i++)
		if (is_active(order->followed[i]) &&
		    forecast_has(order->followed[i]->forecast, file))
			return true;
	return false;
}

/* --- readers --------------------------------------------------------------------------------- */

/* Of several that foresee a file the one that was fed last is told: the others do by chance. What
 * none foresees may be where readers go on. */
void plan_order_saw(struct plan_order *order, uint64_t file)
{
	struct plan_followed *by = NULL;

	for (unsigned i = 0; i < order->count; i++) {
		struct plan_followed *f = order->followed[i];

		if (forecast_foresees(f->forecast, file) && (!by || f->fed > by->fed))
			by = f;
	}
	order->seen++;
	for (unsigned i = 0; i < order->count; i++)
		if (!by || order->followed[i] == by)
			forecast_saw(order->followed[i]->forecast, file);
	if (by) {
		by->fed = order->seen;
		by->fed_by++;
	}
}

void plan_order_pushed(struct plan_order *order, uint64_t file)
{
	for (unsigned i = 0; i < order->count; i++)
		forecast_push(order->followed[i]->forecast, file);
}

static bool may_push(const struct plan_followed *f)
{
	return f->fed_by >= SURE && forecast_may_push(f->forecast);
}

bool plan_order_may_push(const struct plan_order *order)
{
	for (unsigned i = 0; i < order->count; i++)
		if (may_push(order->followed[i]))
			return true;
	return false;
}

void plan_order_to_push(const struct plan_order *order, forecast_take_fn *take, void *arg)
{
	for (unsigned i = 0; i < order->count; i++)
		if (may_push(order->followed[i]))
			forecast_coming(order->followed[i]->forecast, take, arg);
}

/* --- the window ------------------------------------------------------------------------------ */

/* Nearly all that the page cache should have is asked for. */
static bool page_cache_let_go(const struct plan_followed *f)
{
	return f->dropped >= RECENT / 16 && f->dropped >= f->recent / 4 * 3;
}

static bool is_missing(const struct plan_followed *f, uint64_t extent)
{
	return !(f->marks[extent] & (TWICE | TAKEN)) && !f->view->have(f->view->context, extent) &&
	       (page_cache_let_go(f) || !plan_is_kept(f->view, extent));
}

static uint64_t next_listed(const struct plan_followed *f, uint64_t from)
{
	return bits_next_few(f->window, f->words, from, f->view->extents);
}

static void unlist(struct plan_followed *f, uint64_t extent)
{
	if (!bit_get(f->window, extent))
		return;
	bits_remove(f->window, f->words, extent);
	f->listed -= plan_memory(f->view, extent);
}

/* Returns the bytes that were listed. */
static uint64_t list_file(struct plan_followed *f, uint64_t file)
{
	uint64_t end = plan_extent(f->view, file).file_end, bytes = 0;

	for (uint64_t extent = file; extent < end; extent++) {
		if (bit_get(f->window, extent) || !is_missing(f, extent))
			continue;
		bits_add(f->window, f->words, extent);
		f->listed += plan_memory(f->view, extent);
		bytes += plan_size(f->view, extent);
	}
	return bytes;
}

/* Fills the window up to `wanted` bytes, or as far as one call may look. */
static void fill_window(struct plan_followed *f, uint64_t wanted)
{
	uint64_t files = 0, bytes = 0, listed;
	bool empty = f->listed == 0;
	struct extent first, last;
	uint32_t file = 0;

	for (unsigned looked = 0; looked < AT_ONCE && f->listed < wanted; looked++) {
		f->place = forecast_next(f->forecast, f->place, &file);
		if (f->place == forecast_count(f->forecast))
			break;
		listed = list_file(f, file);
		files += listed > 0;
		bytes += listed;
		f->place++;
	}
	/* D s, but not of the last few files of an epoch. */
	if (!empty || files == 0 || (files < SAMPLE && f->scatter > 0))
		return;
	first = plan_extent(f->view, next_listed(f, 0));
	last = plan_extent(f->view, bits_before_few(f->window, f->words, f->view->extents));
	f->mean = bytes / files + 1;
	f->scatter = (double)f->mean * (double)(sub_sat(last.offset, first.offset) + last.size);
}

struct soon {
	const struct plan_followed *f;
	unsigned left;	       /* files to look at */
	bool missing, evicted; /* evicted: missing, though all before `place` were listed */
};

static bool look_at(void *arg, uint32_t file)
{
	struct soon *soon = arg;
	uint64_t end = plan_extent(soon->f->view, file).file_end;

	for (uint64_t extent = file; extent < end && !soon->evicted; extent++) {
		bool listed = bit_get(soon->f->window, extent);

		if (!is_missing(soon->f, extent) || (listed && soon->f->sweeping))
			continue;
		soon->missing = true;
		soon->evicted = !listed;
	}
	return !soon->evicted && --soon->left > 0;
}

/* --- demands --------------------------------------------------------------------------------- */

static void end_ahead(struct plan_followed *f, uint64_t extent)
{
	if (!(f->marks[extent] & AHEAD))
		return;
	f->marks[extent] &= (uint8_t)~AHEAD;
	f->ahead -= plan_memory(f->view, extent);
}

/* Readers that leave out files, or parts of them, would seem to have more and more ahead. What they
 * had passed at the last look counts: a file that is open may not have been asked for yet. */
static void leave_passed(struct plan_order *order)
{
	const struct plan_view *view = order->view;

	if (order->seen - order->looked < BEHIND)
		return;
	order->looked = order->seen;
	for (unsigned i = 0; i < order->count; i++) {
		struct plan_followed *f = order->followed[i];
		uint32_t until = f->front, file;

		f->front = forecast_next(f->forecast, 0, &file);
		for (unsigned left = AT_ONCE; left && f->passed < until; left--, f->passed++) {
			bool wanted = false;

			file = forecast_file(f->forecast, f->passed);
			for (unsigned j = 0; j < order->count; j++)
				wanted |=
					j != i && forecast_has(order->followed[j]->forecast, file);
			for (uint64_t e = file; e < plan_extent(view, file).file_end; e++) {
				end_ahead(f, e);
				if (!wanted)
					view->passed(view->context, e);
			}
		}
	}
}

/* Once a file, however many reads it takes. One that is needed soon and is neither there nor listed
 * was evicted since it was looked at, and so others may be: all that comes is looked at again. */
static void ask_file(struct plan_followed *f, uint64_t file)
{
	struct soon soon = {.f = f, .left = SOON};
	uint32_t position = forecast_position(f->forecast);
	bool had_let_go = page_cache_let_go(f);

	if (f->marks[file] & ASKED)
		return;
	f->marks[file] |= ASKED;
	f->recent += position - f->position;
	f->dropped += plan_is_kept(f->view, file);
	f->position = position;
	if (f->recent >= RECENT) {
		f->dropped = (uint32_t)((uint64_t)f->dropped * (RECENT / 2) / f->recent);
		f->recent = RECENT / 2;
	}
	if (page_cache_let_go(f) && !had_let_go)
		f->place = 0;
	if (++f->demands % PERIOD)
		return;
	forecast_coming(f->forecast, look_at, &soon);
	f->hungry = soon.missing;
	if (soon.evicted)
		f->place = 0;
}

/* Where several forecasts have the file, as those of two jobs, each may want it yet. So may one
 * that has ended, once: what was opened last is read after that. */
bool plan_order_demand(struct plan_order *order, uint64_t extent)
{
	uint64_t file = order->count ? plan_extent(order->view, extent).file : extent;
	unsigned active = 0, want = 0;

	for (unsigned i = 0; i < order->count; i++) {
		const struct plan_followed *f = order->followed[i];

		if (!forecast_has(f->forecast, file))
			continue;
		active += is_active(f);
		want += is_active(f) || !(f->marks[extent] & TAKEN);
	}
	for (unsigned i = 0; i < order->count; i++) {
		struct plan_followed *f = order->followed[i];
		bool listed = bit_get(f->window, extent);

		if (!forecast_has(f->forecast, file))
			continue;
		if (f->sweeping && (listed || f->marks[extent] & AHEAD))
			f->taken += plan_memory(f->view, extent);
		if (f->sweeping && listed)
			f->missed += plan_memory(f->view, extent);
		end_ahead(f, extent);
		if (want <= 1 || !is_active(f))
			f->marks[extent] |= TAKEN;
		unlist(f, extent);
		if (extent == file)
			ask_file(f, file);
	}
	leave_passed(order);
	return active > 0;
}

/* --- how much -------------------------------------------------------------------------------- */

/* R: of the memory that all forecasts have together, used or not. */
static uint64_t share_of(const struct plan_order *order, const struct prefetch_budget *budget)
{
	uint64_t all = min(budget->order, PLENTY);
	unsigned active = 0;

	for (unsigned i = 0; i < order->count; i++) {
		all += order->followed[i]->ahead;
		active += is_active(order->followed[i]);
	}
	return active ? all / active : 0;
}

/* W*, bytes. */
static uint64_t window_that_pays(const struct plan_followed *f,
				 const struct prefetch_budget *budget)
{
	return (uint64_t)(f->scatter / 2 / (double)(budget->gap + f->mean));
}

static bool is_seek_bound(const struct plan_followed *f, const struct prefetch_budget *budget,
			  uint64_t share)
{
	return f->scatter > 0 && budget->gap >= f->mean && window_that_pays(f, budget) <= share;
}

static bool is_growing(const struct plan_followed *f, const struct prefetch_budget *budget)
{
	return f->goal < window_that_pays(f, budget) / GROWN;
}

/* W, less what is in memory already: 0 if no new window is to begin yet. It begins where there is
 * memory for a long run at least, or many short runs would fill it. */
static uint64_t new_window(const struct plan_order *order, const struct plan_followed *f,
			   const struct prefetch_budget *budget)
{
	uint64_t share = share_of(order, budget);
	uint64_t room = min(budget->order, sub_sat(share, f->ahead));
	uint64_t lead = budget->pace ? sub_sat(budget->pace, f->ahead) : UINT64_MAX;
	uint64_t left = forecast_count(f->forecast) - forecast_position(f->forecast);

	if (!is_active(f) || room < min(budget->run, share / 2))
		return 0;
	if (f->scatter == 0)
		return min(room, START);
	if (!is_seek_bound(f, budget, share))
		return lead || f->hungry ? min(room, min(max(lead, budget->run), START)) : 0;
	if (is_growing(f, budget) && left * f->mean > share)
		return f->hungry || room >= f->goal ? min(room, f->goal) : 0;
	return f->hungry || room >= share / 2 ? sub_sat(share + f->per_sweep / 2, f->ahead) : 0;
}

/* For a run: readers, and forecasts that have taken too much, give some back first. */
static bool has_room(const struct plan_order *order, const struct plan_followed *f,
		     const struct prefetch_budget *budget)
{
	uint64_t share = share_of(order, budget);

	return f->ahead < share &&
	       budget->order >= min(min(budget->run, share / TOP_UP), f->listed);
}

/* --- runs ------------------------------------------------------------------------------------ */

/* A sweep does not stop for what has come meanwhile. */
static uint64_t first_missing(struct plan_followed *f, uint64_t extent, bool back)
{
	while (extent != PLAN_NONE && !is_missing(f, extent)) {
		unlist(f, extent);
		extent = back ? bits_before_few(f->window, f->words, extent)
			      : next_listed(f, extent);
	}
	return extent;
}

static uint64_t next_missing(void *followed, uint64_t from)
{
	return first_missing(followed, next_listed(followed, from), false);
}

static uint64_t missing_before(void *followed, uint64_t until)
{
	struct plan_followed *f = followed;

	return first_missing(f, bits_before_few(f->window, f->words, until), true);
}

static void plan_extent_of(void *followed, uint64_t extent)
{
	struct plan_followed *f = followed;
	uint8_t *mark = &f->marks[extent];

	unlist(f, extent);
	if (!(*mark & AHEAD))
		f->ahead += plan_memory(f->view, extent);
	*mark = (uint8_t)(*mark | AHEAD | (*mark & PLANNED ? TWICE : PLANNED));
}

int plan_order_follow(struct plan_order *order, const void *id, struct forecast *forecast)
{
	struct plan_followed *f;
	uint32_t file;

	if (order->count == FORECASTS)
		return -ENOSPC;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->view = order->view;
	f->elevator = (struct elevator){.view = f->view,
					.forecast = PLAN_ORDER,
					.wanted = f,
					.next = next_missing,
					.before = missing_before,
					.plan = plan_extent_of};
	f->id = id;
	f->forecast = forecast;
	f->goal = START;
	f->hungry = true;
	f->position = forecast_position(forecast);
	f->front = f->passed = forecast_next(forecast, 0, &file);
	f->marks = calloc(1, f->view->extents + 1);
	f->window = calloc(f->view->extents / 64 + 1, 8);
	f->words = calloc(f->view->extents / 4096 + 1, 8);
	if (!f->marks || !f->window || !f->words) {
		followed_free(f);
		return -ENOMEM;
	}
	order->followed[order->count++] = f;
	return 0;
}

/* The next extent of a sweep, which may begin or end here. */
static uint64_t next_in_sweep(const struct plan_order *order, struct plan_followed *f,
			      const struct prefetch_budget *budget)
{
	uint64_t extent = PLAN_NONE, share = share_of(order, budget), wanted;

	if (f->sweeping) { /* what readers have used makes room for more */
		uint64_t window = sub_sat(share + f->per_sweep / 2, f->ahead);

		if (is_active(f) && is_seek_bound(f, budget, share) && !is_growing(f, budget) &&
		    sub_sat(window, f->listed) >= max(share / TOP_UP, 1))
			fill_window(f, window);
		extent = next_missing(f, f->cursor);
	}
	if (f->sweeping && extent == PLAN_NONE) {
		/* P. While the window grows, it only shows whether readers take all that the device
		 * gives. */
		if (f->missed < f->taken / MISSED)
			f->per_sweep = 0;
		else if (!is_growing(f, budget) || f->begun == 0)
			f->per_sweep = f->taken;
		else
			f->per_sweep =
				(uint64_t)((double)share / 2 * (double)min(f->taken, f->begun) /
					   (double)f->begun);
		f->taken = f->missed = f->cursor = 0;
		f->sweeping = false;
	}
	if (f->sweeping || (wanted = new_window(order, f, budget)) == 0)
		return extent;
	fill_window(f, wanted);
	f->hungry = false;
	f->begun = f->listed;
	f->sweeping = f->listed > 0;
	if (f->sweeping && f->goal < PLENTY && wanted >= f->goal)
		f->goal *= 2;
	return f->sweeping ? next_missing(f, 0) : PLAN_NONE;
}

bool plan_order_next(struct plan_order *order, const struct prefetch_budget *budget,
		     struct plan_run *ret)
{
	for (unsigned i = 0; i < order->count; i++) {
		unsigned at = (order->turn + i) % order->count;
		struct plan_followed *f = order->followed[at];
		uint64_t extent = next_in_sweep(order, f, budget);

		if (extent == PLAN_NONE || !has_room(order, f, budget) ||
		    !elevator_from(&f->elevator, budget, budget->order, extent, ret))
			continue;
		ret->follower = at;
		order->turn = at + 1;
		return true;
	}
	return false;
}

bool plan_order_wants(const struct plan_order *order, const struct prefetch_budget *budget)
{
	for (unsigned i = 0; i < order->count; i++) {
		const struct plan_followed *f = order->followed[i];
		bool left = f->listed || f->place < forecast_count(f->forecast);

		if (f->sweeping ? has_room(order, f, budget)
				: left && new_window(order, f, budget) > 0)
			return true;
	}
	return false;
}

bool plan_order_around(struct plan_order *order, const struct prefetch_budget *budget,
		       uint64_t extent, struct plan_run *ret)
{
	for (unsigned i = 0; i < order->count; i++) {
		struct plan_followed *f = order->followed[i];

		if (f->listed &&
		    elevator_around(&f->elevator, budget, budget->order, extent, ret)) {
			ret->follower = i;
			return true;
		}
	}
	return false;
}

void plan_order_commit(struct plan_order *order, const struct plan_run *run, unsigned accepted)
{
	struct plan_followed *f = order->followed[run->follower];

	elevator_commit(&f->elevator, run, accepted, &f->cursor);
}
