#include "cache/plan/cost.h"
#include "base/math.h"

/* Finding a / b. The time of one read says little: it waits behind others in a queue, or shares the
 * device with them, and which of the two is unknown. Either way the device does the work it is
 * given, so over a window of some reads, but for its edges,
 *
 *	time it was busy = a * reads + b * bytes	or
 *	r = b + a * z		with r = busy time a byte, z = reads a byte
 *
 * A line through the last windows gives a and b; older windows count less. It is fitted by least
 * squares with a prior (a ridge): the assumed a / b weighs as much as one window whose z is half as
 * large again as the mean. It follows what was found, which is not forgotten while all reads are
 * alike. A device has a smaller a while it works on several reads at once, and should: a is that of
 * the last ten windows or so.
 *
 * To make z vary, runs have another size during one window in four, and later one in sixteen. A
 * device that is limited in requests and in bytes charges the greater of the two, not the sum:
 * while runs are small, b looks like 0 and a / b is at its upper bound; runs grow until b shows.
 *
 * A run of 16 * a / b spends 1/17 of its time on a. Runs are powers of two, and change only when
 * shorter than 4/5 of that or at least 4 times as long.
 *
 * Finding the depth: by trying one more and one fewer now and then, as BBR does with its rate
 * (Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016). A round is
 * judged by all bytes read while reads ahead were under way, those of wanted reads included. Where
 * the device charges for bytes, one more read ahead only takes the place of wanted reads, and gains
 * nothing. Where it charges for requests, it gains: a wanted read of a hard disk costs as much as
 * ten files read ahead, so the reads ahead get what they can use, though wanted reads wait in the
 * queue (unless they bring what lies around them: cost_seek_bound()). The gain is compared with the
 * bytes read ahead, since one more than d can bring 1/d of those.
 *
 * A probe and the round before it are a vote. Three more votes for than against change the depth;
 * two more against end the attempt, and each one that fails makes the next come later. Until the
 * first vote against, each vote changes the depth (BBR's startup), since an epoch is short on a
 * device that takes many reads at once. Rounds at the same depth that differ make rounds longer:
 * limits by cgroup or by the provider of a volume let a burst through, then nothing for 20 to
 * 100 ms.
 *
 * Depth 0 is tried first. If wanted reads alone keep the device busy with bytes, reading ahead
 * brings no byte sooner, but delays the readers. They fall behind the sweep, and when it has ended,
 * the device is idle until they have read the rest from memory. If the sweep takes a share s of the
 * device, readers have read 1 - (1 - t)^(1 - s) of everything at the time t of the sweep; with
 * s = 0.85, as measured on a volume of 500 MB/s, that cost a fifth of the epoch. Rounds at depth 0
 * last from the end of one wanted read to the end of another, so that readers that pause count as
 * slow, and are long, so that no burst decides. */
#define WINDOW_READS	16
#define WINDOW_NS	100000000
#define KEEP		0.9
#define ASSUMED_WINDOWS 16
#define SLOW_NS		10.0 /* a byte, 100 MB/s: what takes longer is taken for requests at first */
#define DOUBT		(1.0 / 4) /* sum of squares of deviations of z that weighs as much */
#define OUTLIER		1.2	  /* times what was expected: a window counts for no more */
#define RUN_RATIOS	16
#define EXPERIENCED	16 /* windows */
#define LEARNED		2  /* windows: in these a limit lets through what it has saved up */

/* Seek-bound: less than this share of a wanted read's time is for its bytes. */
#define SEEK_BOUND (1.0 / 5)

#define ROUND_READS    6
#define ROUND_NS       25000000
#define ROUND_NS_MAX   100000000
#define ACCEPT	       3
#define REJECT	       (-2)
#define PATIENCE_MAX   15
#define PATIENCE_ALONE 3 /* rounds before depth 0, just left, is tried again */

#define MOST  (15.0 / 16) /* of all bytes are read ahead: hardly anything is wanted */
#define EXTRA (1.0 / 4)	  /* of what the only read ahead brings must come on top */

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
			      .assumed = COST_GAP_START,
			      .wanted = COST_GAP_START,
			      .depth = 2,
			      .direction = -2,
			      .starting = true,
			      .round_long = ROUND_NS};
}

/* --- a / b ---------------------------------------------------------------------------------- */

/* The share of its time that the device spends on requests, at the mean z. */
static double request_share(const struct cost *cost)
{
	double assumed = cost->assumed * cost->z / (1 + cost->assumed * cost->z);
	double zz = cost->zz / (cost->z * cost->z), zr = cost->zr / (cost->z * cost->r);
	double share = (zr + DOUBT * assumed) / (zz + DOUBT);

	return share < 0 ? 0 : share > 1 ? 1 : share;
}

/* a / b */
static uint64_t ratio(const struct cost *cost)
{
	double share = request_share(cost);

	if (share >= (1 - share) * COST_GAP_MAX * cost->z)
		return COST_GAP_MAX;
	return (uint64_t)(share / (1 - share) / cost->z);
}

/* Means and sums of products around them, each decayed by KEEP a window. */
static void learn(struct cost *cost, double z, double r)
{
	double dz, dr;

	if (cost->windows) {
		/* At most OUTLIER times what the line has at z. */
		double line = cost->r + request_share(cost) * cost->r / cost->z * (z - cost->z);

		r = r < OUTLIER * line ? r : OUTLIER * line;
	} else {
		/* Reads that are alike do not tell requests from bytes. Where they take longer than
		 * the bytes do on any usual device, requests are dear: a hard disk is known by its
		 * first reads. */
		double slow = (r / SLOW_NS - 1) / z;

		if (slow > cost->assumed)
			cost->assumed = slow < COST_GAP_MAX ? slow : COST_GAP_MAX;
	}
	dz = z - cost->z;
	dr = r - cost->r;
	cost->weight = KEEP * cost->weight + 1;
	cost->z += dz / cost->weight;
	cost->r += dr / cost->weight;
	cost->zz = KEEP * cost->zz + dz * (z - cost->z);
	cost->zr = KEEP * cost->zr + dz * (r - cost->r);
	cost->windows++;
	cost->ratio = ratio(cost);
	cost->assumed += ((double)cost->ratio - cost->assumed) / ASSUMED_WINDOWS;
}

/* Some windows in a row must agree: more of them after much was learned. */
static void adapt_run(struct cost *cost)
{
	uint64_t wanted = RUN_RATIOS * cost->ratio;
	int enough = cost->windows < EXPERIENCED ? 2 : 4;

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

uint64_t cost_gap(const struct cost *cost)
{
	return clamp(cost->ratio, COST_GAP_MIN, COST_GAP_MAX);
}

/* Whether cost_run() differs from the best one, to learn from it. */
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

void cost_wanted(struct cost *cost, uint64_t bytes)
{
	cost->wanted += ((double)bytes - cost->wanted) / WINDOW_READS;
}

bool cost_seek_bound(const struct cost *cost)
{
	return cost->wanted / (cost->wanted + (double)cost->ratio) < SEEK_BOUND;
}

/* --- depth ---------------------------------------------------------------------------------- */

static unsigned depth_to_try(const struct cost *cost)
{
	return cost->depth + (unsigned)cost->direction;
}

/* That of the round under way. */
static unsigned depth_now(const struct cost *cost)
{
	return cost->probing ? depth_to_try(cost) : cost->depth;
}

bool cost_alone(const struct cost *cost)
{
	return depth_now(cost) == 0 && !cost_seek_bound(cost);
}

/* Depth 0 is not tried where requests cost much, nor while hardly anything is wanted. */
static void begin_probe(struct cost *cost)
{
	bool alone_may_do = !cost_seek_bound(cost) && cost->round_ahead < MOST * cost->round_work;
	int direction = cost->direction;

	if (cost->depth == 0 || (depth_to_try(cost) == 0 && !alone_may_do))
		cost->direction = 1;
	if (cost->depth == COST_DEPTH_MAX)
		cost->direction = -1;
	if (cost->direction != direction)
		cost->votes = 0;
	cost->probing = true;
}

/* A single read ahead leaves the device idle until the next has begun, which the reported times do
 * not show: so the second must bring only half as much as any other. */
static double least_gain(const struct cost *cost)
{
	bool up = cost->direction > 0;

	if (cost->depth == 0)
		return EXTRA * cost->round_ahead / (double)cost->round_ns;
	if (depth_to_try(cost) == 0)
		return -EXTRA * cost->base_ahead;
	if (up)
		return cost->base_ahead / (cost->depth == 1 ? 20 : 10);
	return -cost->base_ahead / (cost->depth == 2 ? 40 : 20);
}

/* Two rounds at the same depth that differ were too short to judge by. */
static bool steady(struct cost *cost, double rate)
{
	double change = rate - cost->base_work;

	if (cost->base_work == 0)
		return true;
	if (change > cost->base_work / 6 || change < -cost->base_work / 6) {
		cost->round_long = clamp(cost->round_long * 2, ROUND_NS, ROUND_NS_MAX);
		return false;
	}
	cost->round_long = clamp(cost->round_long * 7 / 8, ROUND_NS, ROUND_NS_MAX);
	return true;
}

/* First whether to read ahead at all is decided, then how many at once. */
static void vote(struct cost *cost, bool good)
{
	if (cost->starting && depth_to_try(cost) == 0 && !good) {
		cost->direction = 1;
		cost->base_work = 0;
		return;
	}
	cost->votes += good ? 1 : -1;
	cost->starting = cost->starting && good && cost->depth < COST_DEPTH_MAX;
	if (!cost->starting && cost->votes != ACCEPT && cost->votes != REJECT)
		return;
	if (cost->votes > 0) {
		cost->depth += (unsigned)cost->direction;
		cost->base_work = 0;
		cost->patience = cost->depth ? 0 : PATIENCE_ALONE;
		cost->starting = cost->starting && cost->depth;
	} else {
		cost->direction = cost->direction > 0 ? -1 : 1;
		cost->patience = (unsigned)clamp(2 * cost->patience + 1, 0, PATIENCE_MAX);
	}
	cost->rest = cost->patience;
	cost->votes = 0;
}

static void leave_alone(struct cost *cost)
{
	cost->depth = 1;
	cost->direction = 1;
	cost->probing = false;
	cost->votes = 0;
	cost->rest = cost->patience = 0;
	cost->base_work = 0;
}

static void judge(struct cost *cost)
{
	double rate = cost->round_work / (double)cost->round_ns;

	/* Much is read ahead all the same: not by the sweep, so doing without it gains nothing. */
	if (depth_now(cost) == 0 &&
	    (cost_seek_bound(cost) || 2 * cost->round_ahead > cost->round_work)) {
		leave_alone(cost);
		return;
	}
	if (cost->probing) {
		cost->probing = false;
		vote(cost, rate - cost->base_work >= least_gain(cost));
		return;
	}
	if (steady(cost, rate)) {
		if (cost->rest)
			cost->rest--;
		else
			begin_probe(cost);
	}
	cost->base_work = rate;
	cost->base_ahead = cost->round_ahead / (double)cost->round_ns;
}

static void begin_round(struct cost *cost)
{
	cost->since = cost->streaming.until;
	if (cost->since < cost->busy.until)
		cost->since = cost->busy.until;
	cost->round_work = cost->round_ahead = 0;
	cost->round_reads = cost->round_ns = 0;
}

static void end_round(struct cost *cost)
{
	bool alone = cost->depth == 0 || depth_to_try(cost) == 0;

	if (cost->round_reads < ROUND_READS ||
	    cost->round_ns < (alone ? ROUND_NS_MAX : cost->round_long))
		return;
	judge(cost);
	begin_round(cost);
}

/* A round without reads ahead begins at the end of a read that began after they had ended. */
static void count_alone(struct cost *cost, uint64_t bytes, uint64_t begin, uint64_t end)
{
	if (cost->windows < LEARNED || (cost->round_reads == 0 && begin < cost->since))
		return;
	if (cost->round_reads++ == 0) {
		cost->since = end;
		return;
	}
	cost->round_work += (double)bytes;
	cost->round_ns = end > cost->since ? end - cost->since : 0;
	end_round(cost);
}

void cost_read(struct cost *cost, uint64_t bytes, uint64_t begin, uint64_t end)
{
	cost->ns += busy_add(&cost->busy, begin, end);
	cost->bytes += bytes;
	cost->reads++;
	cost->pending += (double)bytes;
	if (cost->reads >= WINDOW_READS && cost->ns >= WINDOW_NS) {
		learn(cost, (double)cost->reads / (double)cost->bytes,
		      (double)cost->ns / (double)cost->bytes);
		adapt_run(cost);
		cost->reads = cost->bytes = cost->ns = 0;
	}
	if (depth_now(cost) == 0)
		count_alone(cost, bytes, begin, end);
}

void cost_idle(struct cost *cost, uint64_t now)
{
	if (cost_alone(cost) && now > cost->busy.until + COST_IDLE_NS) {
		leave_alone(cost);
		begin_round(cost);
	}
}

void cost_ahead(struct cost *cost, uint64_t bytes, uint64_t begin, uint64_t end)
{
	uint64_t last = cost->streaming.until, elapsed = end > last ? end - last : 0;
	uint64_t added = busy_add(&cost->streaming, begin, end);
	double own = (double)bytes, others = cost->pending > own ? cost->pending - own : 0;

	/* Bytes of the other reads count as far as they fall into the time of this one. */
	if (added < elapsed)
		others *= (double)added / (double)elapsed;
	cost->pending = 0;
	/* A round has reads that began in it, all of one size. */
	if (differs(cost) || cost->windows < LEARNED)
		begin_round(cost);
	/* In a round that has none of the sweep it began before the round, or is a scan's or a
	 * known order's. */
	if (depth_now(cost) == 0) {
		if (begin >= cost->since)
			cost->round_ahead += own;
		else if (cost->round_reads > 1)
			cost->round_work -= own;
		return;
	}
	if (begin < cost->since)
		return;
	cost->round_ahead += own;
	cost->round_work += own + others;
	cost->round_ns += added;
	cost->round_reads++;
	end_round(cost);
}

unsigned cost_depth(const struct cost *cost, unsigned wanted)
{
	unsigned depth = depth_now(cost) ? depth_now(cost) : 1;
	unsigned taken = cost_seek_bound(cost) ? wanted : 0;

	return depth > taken ? depth - taken : 0;
}
