#include "cache/cost.h"

/* How a / b is found. The time of one read says little: it waits behind others in a queue, or
 * shares the device with them, and which of the two is not known. Either way the device does the
 * work that it is given, so that over a window of some reads, but for its edges,
 *
 *	time it was busy = a * reads + b * bytes	or
 *	y = a + b * x		with x = bytes a read, y = busy time a read
 *
 * A device that takes several at once has a smaller a while it is given several, as it should. So
 * a differs from one phase of the readers to the next; therefore only neighbouring windows are
 * compared, by the change of x and y between them, relative to x, older changes counting less:
 *
 *	b = sum(dx * dy / x^2) / sum(dx^2 / x^2)	a / b = y / b - x
 *
 * For x to change, runs are of another size during one window of four, and of sixteen when
 * much was learned. Until it has, b stays near
 * the one that gives the a / b assumed at first. A device limited to so many requests and so many
 * bytes charges the greater of the two, not the sum: as long as runs are small, b looks like 0 and
 * a / b is at its upper bound; runs grow until b shows.
 *
 * A run of 16 * a / b spends 1/17 of its time on a. Runs are powers of two, and change only when
 * shorter than 4/5 of that or at least 4 times as long.
 *
 * How the depth is found: by trying one more and one fewer now and then, as BBR does with its rate
 * (Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016). A round is
 * judged by the bytes read, those of wanted reads included, while reads ahead were under way: where
 * bytes are what the device charges, one more that only takes the place of wanted reads brings
 * nothing. Where requests are, it brings more: a wanted read of a hard disk costs as much as ten
 * files read ahead, so that the stream is given what it can use, though wanted reads wait for it in
 * the queue. A step is measured by what the reads ahead had, since with d at once one more can
 * bring 1/d of that.
 *
 * A probe and the round before it are a vote; three votes more for than against move the depth,
 * two more against end the try, and each that fails makes the next come later. Rounds at the same
 * depth that differ make rounds longer: limits by cgroup or by the provider of a volume let
 * through a burst, and then nothing for 20 to 100 ms. */
#define WINDOW_READS 32
#define WINDOW_NS    100000000
#define KEEP_CHANGES 0.95
#define KEEP_MEANS   0.9
#define DOUBT	     (1.0 / 16) /* changes that weigh as much as what was assumed */
#define OUTLIER	     1.2	/* times what was expected: no window counts for more */
#define RUN_RATIOS   16
#define EXPERIENCED  16 /* windows */
#define LEARNED	     2	/* windows; the depth waits for them, since work needs a / b */

#define ROUND_READS  6
#define ROUND_NS     25000000
#define ROUND_NS_MAX 100000000
#define ACCEPT	     3
#define REJECT	     (-2)
#define PATIENCE_MAX 15

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
	return value < least ? least : value > most ? most : value;
}

/* Returns how much longer the union became. */
static uint64_t busy_add(struct cost_busy *busy, uint64_t begin, uint64_t end)
{
	uint64_t added = 0;

	if (begin > busy->until) {
		busy->gap_begin = busy->until;
		busy->gap_end = busy->until = begin;
	} else if (begin < busy->gap_end) {
		uint64_t from = begin > busy->gap_begin ? begin : busy->gap_begin;

		added = busy->gap_end - from;
		busy->gap_end = from;
	}
	if (end > busy->until) {
		added += end - busy->until;
		busy->until = end;
	}
	return added;
}

void cost_init(struct cost *cost)
{
	*cost = (struct cost){.ratio = COST_GAP_START,
			      .run = COST_RUN_START,
			      .depth = 2,
			      .direction = 1,
			      .round_long = ROUND_NS};
}

/* --- a / b ---------------------------------------------------------------------------------- */

/* b */
static double slope(const struct cost *cost)
{
	double assumed = cost->y / (cost->x + (double)COST_GAP_START);

	return (cost->xy + DOUBT * assumed) / (cost->xx + DOUBT);
}

/* a / b, where b may be 0 or, by noise, less. */
static uint64_t ratio(const struct cost *cost)
{
	double b = slope(cost);

	if (b * (cost->x + (double)COST_GAP_MAX) <= cost->y)
		return COST_GAP_MAX;
	return cost->y > b * cost->x ? (uint64_t)(cost->y / b - cost->x) : 0;
}

static double without_outlier(const struct cost *cost, double x, double y)
{
	double line = cost->y + slope(cost) * (x - cost->x);
	double most = OUTLIER * (line > cost->y ? line : cost->y);

	return y < most ? y : most;
}

static void learn(struct cost *cost, double x, double y)
{
	if (cost->windows) {
		double dx = x - cost->last_x, middle = (x + cost->last_x) / 2;

		y = without_outlier(cost, x, y);
		cost->xx = KEEP_CHANGES * cost->xx + dx * dx / (middle * middle);
		cost->xy = KEEP_CHANGES * cost->xy + dx * (y - cost->last_y) / (middle * middle);
	}
	cost->weight = KEEP_MEANS * cost->weight + 1;
	cost->x += (x - cost->x) / cost->weight;
	cost->y += (y - cost->y) / cost->weight;
	cost->last_x = x;
	cost->last_y = y;
	cost->windows++;
	cost->ratio = ratio(cost);
}

/* Some windows in a row must agree, more of them when much was learned before. */
static void adapt_run(struct cost *cost)
{
	uint64_t wanted = RUN_RATIOS * cost->ratio;
	int enough = cost->windows < EXPERIENCED ? 2 : 4;

	if (cost->xx < DOUBT)
		return;
	if (4 * wanted > 5 * cost->run && cost->run < COST_RUN_MAX)
		cost->leaning = cost->leaning > 0 ? cost->leaning + 1 : 1;
	else if (4 * wanted <= cost->run && cost->run > COST_RUN_MIN)
		cost->leaning = cost->leaning < 0 ? cost->leaning - 1 : -1;
	else
		cost->leaning = 0;
	if (cost->leaning != enough && cost->leaning != -enough)
		return;
	cost->run = cost->leaning > 0 ? cost->run * 2 : cost->run / 2;
	cost->leaning = 0;
}

void cost_read(struct cost *cost, uint64_t bytes, uint64_t begin, uint64_t end)
{
	cost->ns += busy_add(&cost->busy, begin, end);
	cost->bytes += bytes;
	cost->reads++;
	cost->pending += (double)bytes;
	if (cost->reads < WINDOW_READS || cost->ns < WINDOW_NS)
		return;
	learn(cost, (double)cost->bytes / (double)cost->reads,
	      (double)cost->ns / (double)cost->reads);
	adapt_run(cost);
	cost->reads = cost->bytes = cost->ns = 0;
}

uint64_t cost_gap(const struct cost *cost)
{
	return clamp(cost->ratio, COST_GAP_MIN, COST_GAP_MAX);
}

/* Whether cost_run() differs. */
static bool differs(const struct cost *cost)
{
	return cost->windows % (cost->windows < EXPERIENCED ? 4 : EXPERIENCED) == 1;
}

uint64_t cost_run(const struct cost *cost)
{
	if (!differs(cost))
		return cost->run;
	return cost->run > COST_RUN_MIN ? cost->run / 2 : cost->run * 2;
}

/* --- depth ---------------------------------------------------------------------------------- */

static void decide(struct cost *cost)
{
	if (cost->votes > 0) {
		cost->depth += (unsigned)cost->direction;
		cost->base_work = 0;
		cost->patience = 0;
	} else {
		cost->direction = -cost->direction;
		cost->patience = (unsigned)clamp(2 * cost->patience + 1, 0, PATIENCE_MAX);
	}
	if (cost->depth == 1)
		cost->direction = 1;
	if (cost->depth == COST_DEPTH_MAX)
		cost->direction = -1;
	cost->rest = cost->patience;
	cost->votes = 0;
}

/* One alone leaves the device idle until the next has begun, which no time told here shows:
 * therefore the second must bring half as much as any other. */
static bool better(const struct cost *cost, double rate)
{
	bool up = cost->direction > 0;
	double step = cost->base_ahead / (cost->depth == (up ? 1 : 2) ? 20 : 10);
	double gain = rate - cost->base_work;

	return up ? gain >= step : gain >= -step / 2;
}

/* Two rounds at the same depth that differ were too short to tell anything. */
static bool steady(struct cost *cost, double rate)
{
	double change = rate - cost->base_work;

	if (cost->base_work > 0 &&
	    (change > cost->base_work / 6 || change < -cost->base_work / 6)) {
		cost->round_long = clamp(cost->round_long * 2, ROUND_NS, ROUND_NS_MAX);
		return false;
	}
	cost->round_long = clamp(cost->round_long * 7 / 8, ROUND_NS, ROUND_NS_MAX);
	return true;
}

static void judge(struct cost *cost)
{
	double rate = cost->round_work / (double)cost->round_ns;

	if (cost->probing) {
		cost->probing = false;
		cost->votes += better(cost, rate) ? 1 : -1;
		if (cost->votes == ACCEPT || cost->votes == REJECT)
			decide(cost);
		return;
	}
	if (steady(cost, rate)) {
		cost->probing = !cost->rest;
		cost->rest -= cost->rest > 0;
	}
	cost->base_work = rate;
	cost->base_ahead = cost->round_ahead / (double)cost->round_ns;
}

/* The work of the others is counted as far as this one was under way. */
static double work_meanwhile(const struct cost *cost, double own, uint64_t added, uint64_t elapsed)
{
	double others = cost->pending > own ? cost->pending - own : 0;

	return own + (added < elapsed ? others * (double)added / (double)elapsed : others);
}

static void begin_round(struct cost *cost)
{
	cost->since = cost->streaming.until;
	cost->round_work = cost->round_ahead = 0;
	cost->round_reads = cost->round_ns = 0;
}

void cost_ahead(struct cost *cost, uint64_t bytes, uint64_t begin, uint64_t end)
{
	uint64_t last = cost->streaming.until, elapsed = end > last ? end - last : 0;
	uint64_t added = busy_add(&cost->streaming, begin, end);
	double own = (double)bytes, all = work_meanwhile(cost, own, added, elapsed);

	cost->pending = 0;
	/* A round is of reads that began in it, and of one size. */
	if (differs(cost) || cost->windows < LEARNED)
		begin_round(cost);
	if (begin < cost->since)
		return;
	cost->round_work += all;
	cost->round_ahead += own;
	cost->round_ns += added;
	cost->round_reads++;
	if (cost->round_reads < ROUND_READS || cost->round_ns < cost->round_long)
		return;
	judge(cost);
	begin_round(cost);
}

unsigned cost_depth(const struct cost *cost)
{
	return cost->probing ? cost->depth + (unsigned)cost->direction : cost->depth;
}
