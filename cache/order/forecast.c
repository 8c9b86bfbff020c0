/* Places of the order, where readers are:
 *
 *	done ... done  row  gap  row  gap  row |<---- reach ---->|       row
 *	             ^ front               edge ^   begin next            ^ a jump
 *
 * A place is done when its file has come, is hidden, was pushed, or was passed: readers went past
 * it, and have its file from elsewhere or never ask for it. Passed are
 *
 *	a hole	a single place that is left out, once LONG_ROW after it have come
 *	a gap	the first one, and what lies APART reaches before the edge, when readers are stuck:
 *		much was foreseen since the front moved
 *	the beginning, before the first row that readers had when the order was found
 *
 * Foreseen is what lies between front and edge + reach, where reach is a batch (the longest way
 * from one row to the next) for each row and one more, as all workers may begin batches at once. A
 * demand that has nothing to do with the order falls in there with a probability of
 *
 *	c = (edge + reach - front) / count
 *
 * So the forecast is lost when fewer than 1/8 of the last JUDGED demands were foreseen, or fewer
 * than 2 c where that is more. */
#include "cache/order/forecast.h"
#include "base/bits.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/search.h"
#include "cache/order/list.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Places side by side may come by chance: others ask for files of the order, and so do workers who
 * are elsewhere in it. ROW of them show a reader; LONG_ROW do, where chance gives more. */
#define ROW	 4
#define LONG_ROW (2 * ROW)
#define RANKS	 8	   /* or a row of one rank's places, in a world of this size at most */
#define HOLES	 (4 * ROW) /* places before a row among which single ones may be left out */
#define MET	 (4 * ROW) /* unforeseen places that are remembered: a row of one reader of four */

#define BATCH_MIN 64			      /* places: reach is not less, */
#define BATCH_MAX 4096			      /* and no batch is larger */
#define APART	  4			      /* batches that each worker may have been given */
#define STUCK	  (APART * APART * BATCH_MIN) /* foreseen demands without that the front moves */

#define BEHIND 0.75 /* of a reader's own files that come in rows: the others begin batches */
#define JUDGED 64   /* of the last demands: a bit each */
#define GAPS   64   /* that are read side by side, at most */

/* Places that are not done, between two rows or after the last one. */
struct gap {
	uint32_t next, end;
};

struct forecast {
	struct order_list *order;
	uint32_t count;
	uint8_t *done;	 /* a bit for each place, */
	uint8_t *hidden; /* of these: nobody will be seen asking for it; */
	uint8_t *pushed; /* of those done: pushed, and not asked for yet; */
	uint8_t *coming; /* of those pushed: not passed by a reader yet */
	uint32_t done_count, hidden_count;
	uint32_t begin;	      /* the first place that is followed */
	uint32_t front, edge; /* the first place not done; the last one reached, plus 1 */
	uint32_t reach;
	uint32_t coming_count;
	uint32_t met[MET]; /* the last unforeseen places */
	unsigned met_next;
	uint32_t stuck;	   /* foreseen demands since the front moved */
	uint64_t foreseen; /* a bit for each of the last demands, the latest lowest */
	unsigned judged;
};

static bool is_done(const struct forecast *forecast, uint32_t place)
{
	return bit_get(forecast->done, place);
}

static bool is_hidden(const struct forecast *forecast, uint32_t place)
{
	return bit_get(forecast->hidden, place);
}

static bool has_come(const struct forecast *forecast, uint32_t place)
{
	return is_done(forecast, place) && !is_hidden(forecast, place);
}

static void set_done(struct forecast *forecast, uint32_t place)
{
	forecast->done_count += !bit_set(forecast->done, place);
}

static size_t set_bytes(const struct forecast *forecast)
{
	return (forecast->count / 64 + 1) * 8;
}

/* Four sets of places, in one piece. */
static int make_sets(struct forecast *forecast)
{
	size_t bytes = set_bytes(forecast);

	forecast->done = calloc(4, bytes);
	if (!forecast->done)
		return -ENOMEM;
	forecast->hidden = forecast->done + bytes;
	forecast->pushed = forecast->hidden + bytes;
	forecast->coming = forecast->pushed + bytes;
	return 0;
}

static void advance(struct forecast *forecast)
{
	uint32_t was = forecast->front;

	while (forecast->front < forecast->count && is_done(forecast, forecast->front))
		forecast->front++;
	if (forecast->front > was)
		forecast->stuck = 0;
}

int forecast_new(uint32_t *files, uint32_t count, const uint8_t *hidden, struct forecast **ret)
{
	struct forecast *forecast = calloc(1, sizeof(*forecast));

	if (!forecast)
		return -ENOMEM;
	forecast->count = count;
	forecast->reach = BATCH_MIN;
	if (make_sets(forecast) < 0 || order_list_new(NULL, files, count, &forecast->order) < 0) {
		forecast_free(forecast);
		return -ENOMEM;
	}
	if (hidden) {
		for (uint32_t place = 0; place < forecast->count; place++) {
			if (!bit_get(hidden, forecast->order->files[place]))
				continue;
			bit_set(forecast->hidden, place);
			set_done(forecast, place);
		}
		forecast->hidden_count = forecast->done_count;
		advance(forecast);
		forecast->edge = forecast->front;
	}
	*ret = forecast;
	return 0;
}

int forecast_copy(const struct forecast *forecast, struct forecast **ret)
{
	struct forecast *copy = malloc(sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	*copy = *forecast;
	if (make_sets(copy) < 0) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy->done, forecast->done, 4 * set_bytes(forecast));
	order_list_share(copy->order);
	*ret = copy;
	return 0;
}

void forecast_free(struct forecast *forecast)
{
	if (!forecast)
		return;
	order_list_free(forecast->order);
	free(forecast->done);
	free(forecast);
}

uint32_t forecast_place(const struct forecast *forecast, uint64_t file)
{
	return order_list_find(forecast->order, file);
}

uint32_t forecast_edge(const struct forecast *forecast)
{
	return forecast->edge;
}

bool forecast_has(const struct forecast *forecast, uint64_t file)
{
	return forecast_place(forecast, file) != ORDER_NONE;
}

/* --- where the readers are ------------------------------------------------------------------- */

/* How many places, `apart` from each other, have come up to this one, which counts: at most `most`,
 * from *ret_first on. Hidden ones between them do not end the row. */
static unsigned row_until(const struct forecast *forecast, uint32_t place, uint32_t apart,
			  unsigned most, uint32_t *ret_first)
{
	unsigned row = 1;

	for (; place >= apart && row < most && is_done(forecast, place - apart); place -= apart)
		row += !is_hidden(forecast, place - apart);
	*ret_first = place;
	return row;
}

/* Whether a place is one of `least` that have come, `apart` from each other, or of the first ones.
 * */
static bool is_in_row(const struct forecast *forecast, uint32_t place, uint32_t apart,
		      unsigned least)
{
	uint32_t first, end = place + apart;
	unsigned row = row_until(forecast, place, apart, least, &first);

	for (; end < forecast->count && row < least && is_done(forecast, end); end += apart)
		row += !is_hidden(forecast, end);
	return row == least || (first < apart && (apart == 1 || row >= ROW));
}

/* The places of what was seen, each once, rising, without those that stand alone. */
static unsigned places_seen(struct forecast *forecast, const uint32_t *seen, unsigned count,
			    uint32_t *ret)
{
	unsigned found = 0, own = 0;

	for (unsigned i = 0; i < count; i++) {
		uint32_t place = forecast_place(forecast, seen[i]);

		if (place == ORDER_NONE || is_done(forecast, place))
			continue;
		set_done(forecast, place);
		ret[found++] = place;
	}
	/* Those that stand alone are somebody else's: the readers' own are in rows, or the first
	 * ones. A rank that reads before others has one place in each few. */
	for (unsigned i = 0; i < found; i++) {
		bool in_row = is_in_row(forecast, ret[i], 1, ROW);

		for (uint32_t apart = 2; !in_row && apart <= RANKS; apart++)
			in_row = is_in_row(forecast, ret[i], apart, LONG_ROW);
		if (in_row)
			ret[own++] = ret[i];
	}
	memcpy(forecast->done, forecast->hidden, set_bytes(forecast));
	forecast->done_count = forecast->hidden_count;
	qsort(ret, own, sizeof(*ret), search_compare32);
	return own;
}

static unsigned find_gaps(const struct forecast *forecast, struct gap *ret);

/* From one row to the next it is `way` places: a batch. Much shorter gaps are holes. */
static void widen_reach(struct forecast *forecast, uint32_t way)
{
	struct gap gaps[GAPS];
	unsigned count = find_gaps(forecast, gaps);
	uint32_t reach = way;

	for (unsigned i = 0; i < count; i++)
		if ((gaps[i].end - gaps[i].next) * 8 >= way)
			reach += way;
	if (way <= BATCH_MAX && reach > forecast->reach)
		forecast->reach = reach;
}

/* What lies before the first place is not expected any more. */
static void take_cluster(struct forecast *forecast, const uint32_t *places, unsigned count)
{
	uint32_t way = 0, start = places[0];

	forecast->begin = places[0];
	for (uint32_t place = 0; place < forecast->begin; place++)
		set_done(forecast, place);
	for (unsigned i = 0; i < count; i++) {
		set_done(forecast, places[i]);
		if (i == 0 || places[i] - places[i - 1] == 1)
			continue;
		if (places[i] - start > way)
			way = places[i] - start;
		start = places[i];
	}
	forecast->edge = places[count - 1] + 1;
	advance(forecast);
	widen_reach(forecast, way);
}

void forecast_start(struct forecast *forecast, const uint32_t *seen, unsigned count)
{
	SCOPE_FREE uint32_t *places = malloc((count + 1) * sizeof(*places));
	unsigned found, first = 0, from = 0, most = 0;

	if (!places)
		return;
	/* The longest part of the places without a gap of more than a batch. */
	found = places_seen(forecast, seen, count, places);
	for (unsigned i = 1; i <= found; i++) {
		if (i < found && places[i] - places[i - 1] <= BATCH_MAX)
			continue;
		if (i - from > most) {
			most = i - from;
			first = from;
		}
		from = i;
	}
	if (most)
		take_cluster(forecast, places + first, most);
}

/* How far readers may have come in so many turns more. */
static uint64_t end_after(const struct forecast *forecast, uint64_t turns)
{
	uint64_t end = forecast->edge + (uint64_t)forecast->reach + turns;

	return min(end, forecast->count);
}

bool forecast_came(const struct forecast *forecast, uint64_t file, uint64_t turns)
{
	uint32_t place = forecast_place(forecast, file);

	return place != ORDER_NONE && is_done(forecast, place) &&
	       place + turns >= forecast->begin && place < end_after(forecast, turns);
}

double forecast_came_chance(const struct forecast *forecast, uint64_t turns)
{
	uint64_t place = sub_sat(forecast->begin, turns), end = end_after(forecast, turns);
	uint32_t came = 0;

	for (; place < end; place++)
		came += is_done(forecast, (uint32_t)place);
	return (double)came / forecast->count;
}

void forecast_continue(struct forecast *forecast, const struct forecast *before)
{
	uint64_t reach = (uint64_t)before->reach * forecast->count / before->count;

	forecast->reach = (uint32_t)max(reach, BATCH_MIN);
}

/* --- demands --------------------------------------------------------------------------------- */

/* Gives up holes before this place: single places that readers left out, once they have read on
 * after these. A gap stays: it is a worker's. */
static void skip_holes(struct forecast *forecast, uint32_t place)
{
	uint32_t end = place, begin, came = 0, hidden = 0;

	while (end > 0 && place - end < LONG_ROW)
		if (!is_done(forecast, --end))
			return;
	begin = end < HOLES ? 0 : end - HOLES;
	for (uint32_t i = begin; i < end; i++) {
		came += has_come(forecast, i);
		hidden += is_hidden(forecast, i);
	}
	if (came == 0 || came * 2 < HOLES - hidden)
		return;
	while (!has_come(forecast, begin))
		begin++;
	while (begin < end)
		set_done(forecast, begin++);
}

/* A place after the edge begins a row only when some more have come. */
static void move_edge(struct forecast *forecast, uint32_t place)
{
	bool ends_row = false; /* the last place of ROW in a row that have come */
	uint32_t first;

	for (uint32_t apart = 1; place > forecast->edge && apart <= RANKS; apart++)
		ends_row |= row_until(forecast, place, apart, ROW, &first) == ROW;
	if (ends_row) {
		widen_reach(forecast, place - forecast->edge);
		forecast->edge = place + 1;
	}
	while (forecast->edge < forecast->count && is_done(forecast, forecast->edge))
		forecast->edge++;
}

static void go_on(struct forecast *forecast, uint32_t place)
{
	set_done(forecast, place);
	if (place > forecast->reach)
		skip_holes(forecast, place - forecast->reach);
	move_edge(forecast, place);
	if (++forecast->stuck > STUCK + APART * forecast->reach) {
		/* Gives up the first gap and others as far back: nobody reads there any more, and
		 * nobody will ask for what was pushed there. */
		while (forecast->front < forecast->edge &&
		       (!is_done(forecast, forecast->front) ||
			forecast->front + APART * forecast->reach < forecast->edge))
			set_done(forecast, forecast->front++);
		for (uint32_t i = 0; i < forecast->front / 8; i++) {
			forecast->coming_count -= (uint32_t)__builtin_popcount(forecast->coming[i]);
			forecast->coming[i] = 0;
		}
	}
	advance(forecast);
}

/* A reader that asks for ROW places in a row, farther on than any batch reached, goes on there:
 * what lies between is another node's. A file is seen when it is opened and when it is read:
 * that is one place. */
static void jump(struct forecast *forecast, uint32_t place)
{
	unsigned before = 0;

	for (unsigned i = 0; i < MET; i++) {
		if (forecast->met[i] == place)
			return;
		before += forecast->met[i] < place && place - forecast->met[i] < ROW;
	}
	forecast->met[forecast->met_next++ % MET] = place;
	if (before < ROW - 1 || place < forecast->edge + ROW)
		return;
	for (uint32_t i = 0; i < ROW; i++)
		set_done(forecast, place - i);
	move_edge(forecast, place);
}

bool forecast_foresees(const struct forecast *forecast, uint64_t file)
{
	uint32_t place = forecast_place(forecast, file);

	return place != ORDER_NONE && place < forecast->edge + forecast->reach &&
	       place + 2 * forecast->reach >= forecast->front &&
	       (!is_done(forecast, place) || bit_get(forecast->pushed, place));
}

bool forecast_saw(struct forecast *forecast, uint64_t file)
{
	uint32_t place = forecast_place(forecast, file), at = place;
	bool foreseen = forecast_foresees(forecast, file);

	if (place == ORDER_NONE)
		return false;
	/* It came before, and a slower worker or a second open() asks for it again. */
	if (is_done(forecast, place) && !foreseen)
		return true;
	forecast->foreseen = forecast->foreseen << 1 | foreseen;
	forecast->judged += forecast->judged < JUDGED;
	/* A reader that asks for a place has passed those pushed just before it, whether it asked
	 * for them or not. */
	bit_clear(forecast->pushed, place);
	do {
		forecast->coming_count -= bit_get(forecast->coming, at);
		bit_clear(forecast->coming, at);
	} while (at > 0 && bit_get(forecast->coming, --at));
	if (!foreseen)
		jump(forecast, place);
	else if (!is_done(forecast, place))
		go_on(forecast, place);
	return foreseen;
}

bool forecast_may_push(const struct forecast *forecast)
{
	return forecast->coming_count < FORECAST_PUSH;
}

void forecast_push(struct forecast *forecast, uint64_t file)
{
	uint32_t place = forecast_place(forecast, file);

	if (!forecast_foresees(forecast, file) || bit_set(forecast->coming, place))
		return;
	forecast->coming_count++;
	bit_set(forecast->pushed, place);
	go_on(forecast, place);
}

static bool is_behind(const struct forecast *forecast, uint64_t place)
{
	return place == 0 || bit_get(forecast->done, place - 1);
}

double forecast_rarity(const struct forecast *forecast, uint64_t file)
{
	/* Of the window: 2 reach before the front are what was pushed, at most. */
	uint64_t begin = sub_sat(forecast->front, 2 * (uint64_t)forecast->reach);
	uint64_t end = min(forecast->count, (uint64_t)forecast->edge + forecast->reach);
	bool behind = is_behind(forecast, forecast_place(forecast, file));
	uint64_t alike = 0, pushed = 0;

	for (uint64_t word = begin / 64; word <= end / 64; word++) {
		uint64_t done = le_get64(forecast->done + word * 8);
		uint64_t expected = ~done | le_get64(forecast->pushed + word * 8);
		uint64_t after = done << 1 | is_behind(forecast, word * 64);

		expected &= word == begin / 64 ? UINT64_MAX << begin % 64 : UINT64_MAX;
		expected &= word == end / 64 ? ~(UINT64_MAX << end % 64) : UINT64_MAX;
		alike += (unsigned)__builtin_popcountll(expected & (behind ? after : ~after));
		pushed += (unsigned)__builtin_popcountll(expected & done);
	}
	return (double)alike / (double)(forecast->count - forecast->done_count + pushed) /
	       (behind ? BEHIND : 1 - BEHIND);
}

double forecast_chance(const struct forecast *forecast)
{
	double width = forecast->edge + forecast->reach - forecast->front;

	return width < forecast->count ? width / forecast->count : 1;
}

bool forecast_lost(const struct forecast *forecast)
{
	uint64_t chance = (uint64_t)(2 * forecast_chance(forecast) * JUDGED);
	uint64_t least = min(max(chance, JUDGED / 8), JUDGED * 3 / 4);

	return forecast->judged == JUDGED &&
	       (unsigned)__builtin_popcountll(forecast->foreseen) < least;
}

bool forecast_is_half(const struct forecast *forecast)
{
	uint32_t left = forecast->count - forecast->done_count;

	return left <= (forecast->count - forecast->hidden_count) / 2;
}

/* drop_last leaves out part of a batch, and each worker may have one under way. */
bool forecast_ended(const struct forecast *forecast)
{
	uint32_t left = forecast->count - forecast->done_count;
	uint32_t seen = forecast->count - forecast->hidden_count;
	uint64_t most = (uint64_t)forecast->reach * seen / forecast->count;

	return left <= min(most, seen / 8) || left <= seen / 100;
}

uint32_t forecast_count(const struct forecast *forecast)
{
	return forecast->count;
}

uint32_t forecast_position(const struct forecast *forecast)
{
	return forecast->done_count;
}

/* --- what comes ------------------------------------------------------------------------------ */

/* The gaps from the front on, at most GAPS: the last but one holds the rest up to the edge, and the
 * last has no end. Returns how many. */
static unsigned find_gaps(const struct forecast *forecast, struct gap *ret)
{
	uint32_t place = forecast->front;
	unsigned found = 0;

	while (place < forecast->edge && found < GAPS - 2) {
		ret[found].next = place;
		while (place < forecast->edge && !is_done(forecast, place))
			place++;
		ret[found++].end = place;
		while (place < forecast->edge && is_done(forecast, place))
			place++;
	}
	if (place < forecast->edge)
		ret[found++] = (struct gap){.next = place, .end = forecast->edge};
	ret[found++] = (struct gap){.next = forecast->edge, .end = forecast->count};
	return found;
}

uint32_t forecast_next(const struct forecast *forecast, uint32_t place, uint32_t *ret_file)
{
	if (place < forecast->front)
		place = forecast->front;
	while (place < forecast->count && is_done(forecast, place))
		place++;
	if (place < forecast->count)
		*ret_file = forecast->order->files[place];
	return place;
}

uint32_t forecast_file(const struct forecast *forecast, uint32_t place)
{
	return forecast->order->files[place];
}

void forecast_coming(const struct forecast *forecast, forecast_take_fn *take, void *arg)
{
	struct gap gaps[GAPS];
	unsigned count = find_gaps(forecast, gaps), left = count;
	bool on = true;

	while (on && left) {
		left = 0;
		for (struct gap *gap = gaps; gap < gaps + count && on; gap++) {
			while (gap->next < gap->end && is_done(forecast, gap->next))
				gap->next++;
			if (gap->next == gap->end)
				continue;
			left++;
			on = take(arg, forecast->order->files[gap->next++]);
		}
	}
}
