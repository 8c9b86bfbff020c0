#include "cache/plan/cost.h"

/* How a / b is found. The time of one read says little: it waits behind others in a queue, or
 * shares the device with them, and which of the two is not known. Either way the device does the
 * work that it is given, so that over a window of some reads, but for its edges,
 *
 *	time it was busy = a * reads + b * bytes	or
 *	r = b + a * z		with r = busy time a byte, z = reads a byte
 *
 * A line through the last windows, older ones counting less, gives a and b. It is drawn by least
 * squares, beside what is assumed at first (a ridge, or a Bayesian's prior): that weighs as much
 * as windows whose z differ by noise / spread, so that windows that scatter, as where a limit lets
 * through bursts, convince more slowly. What is assumed follows what was found, so that it is not
 * forgotten while all reads are alike. A device that takes several at once has a smaller a while
 * it is given several, as it should: a is that of the last ten windows or so.
 *
 * For z to change, runs are of another size during one window of four, and of sixteen when much
 * was learned. A device limited to so many requests and so many bytes charges the greater of the
 * two, not the sum: as long as runs are small, b looks like 0 and a / b is at its upper bound;
 * runs grow until b shows.
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
 * the queue (unless they bring what lies around them: cost_dear()). A step is measured by what the
 * reads ahead had, since with d at once one more can bring 1/d of that.
 *
 * A probe and the round before it are a vote; three votes more for than against move the depth,
 * two more against end the try, and each that fails makes the next come later. Until the first
 * vote against, each moves it (BBR's startup): where much runs at once, an epoch is short. Rounds
 * at the same depth that differ make rounds longer: limits by cgroup or by the provider of a volume
 * let through a burst, and then nothing for 20 to 100 ms.
 *
 * Depth 0 is the first to be tried. Where wanted reads alone keep the device busy, and busy with
 * bytes, reading ahead brings no byte sooner, but holds the readers up. They fall behind the
 * stream, and when it is through, the device is idle until they have read the rest from memory.
 * With a share s of the device for the stream, they have read 1 - (1 - t)^(1 - s) of everything at
 * the time t of the pass; with s = 0.85, as measured on a volume of 500 MB/s, that cost a fifth of
 * the epoch. Rounds at depth 0 take the time from one wanted read's end to another's, so that
 * readers who pause count as slow, and are long, so that no burst answers. */
#define WINDOW_READS	16
#define WINDOW_NS	100000000
#define KEEP		0.9
#define ASSUMED_WINDOWS 16
#define NOISE_START	(1.0 / 16) /* variance of r around the line, as a share of r */
#define NOISE_MIN	(1.0 / 128)
#define SPREAD		(1.0 / 8) /* variance of a * z around what is assumed, as a share of r */
#define OUTLIER		1.2	  /* times what was expected: no window counts for more */
#define RUN_RATIOS	16
#define EXPERIENCED	16 /* windows */
#define LEARNED		2  /* windows, in which a limit lets through what it has saved up */

/* The share of a wanted read's time that is for its bytes: */
#define DEAR (1.0 / 5) /* below this, it is read with what lies around it */

#define ROUND_READS    6
#define ROUND_NS       25000000
#define ROUND_NS_MAX   100000000
#define ACCEPT	       3
#define REJECT	       (-2)
#define PATIENCE_MAX   15
#define PATIENCE_ALONE 3 /* what was left just now need not be tried again at once */

/* Of all work, */
#define MOST  (15.0 / 16) /* this share is ahead: hardly anything is wanted */
#define EXTRA (1.0 / 4)	  /* and of what the only read ahead brings, this is to be on top */

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
			      .assumed = COST_GAP_START,
			      .noise = NOISE_START,
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
	double doubt = (cost->noise > NOISE_MIN ? cost->noise : NOISE_MIN) / SPREAD;
	double zz = cost->zz / (cost->z * cost->z), zr = cost->zr / (cost->z * cost->r);
	double share = (zr + doubt * assumed) / (zz + doubt);

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

/* The r that the line has at z. */
static double line_at(const struct cost *cost, double z)
{
	return cost->r + request_share(cost) * cost->r / cost->z * (z - cost->z);
}

static double without_outlier(const struct cost *cost, double z, double r)
{
	double most = OUTLIER * line_at(cost, z);

	return r < most ? r : most;
}

static void learn_noise(struct cost *cost, double z, double r)
{
	double residue = (r - line_at(cost, z)) / cost->r;

	cost->noise += (1 - KEEP) * (residue * residue - cost->noise);
}

/* Means and sums of products around them, each decayed by KEEP a window. */
static void learn(struct cost *cost, double z, double r)
{
	double dz, dr;

	if (cost->windows) {
		r = without_outlier(cost, z, r);
		learn_noise(cost, z, r);
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

/* Some windows in a row must agree, more of them when much was learned before. */
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

static void end_window(struct cost *cost)
{
	if (cost->reads < WINDOW_READS || cost->ns < WINDOW_NS)
		return;
	learn(cost, (double)cost->reads / (double)cost->bytes,
	      (double)cost->ns / (double)cost->bytes);
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

/* The share of a read's time that is for its bytes. */
static double yield(const struct cost *cost, double bytes)
{
	return bytes / (bytes + (double)cost->ratio);
}

void cost_wanted(struct cost *cost, uint64_t bytes)
{
	cost->wanted += ((double)bytes - cost->wanted) / WINDOW_READS;
}

bool cost_dear(const struct cost *cost)
{
	return yield(cost, cost->wanted) < DEAR;
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
	return depth_now(cost) == 0 && !cost_dear(cost);
}

static void decide(struct cost *cost)
{
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

/* Not where requests are dear, nor while hardly anything is wanted. */
static bool alone_may_do(const struct cost *cost)
{
	return !cost_dear(cost) && cost->round_ahead < MOST * cost->round_work;
}

static void begin_probe(struct cost *cost)
{
	int direction = cost->direction;

	if (cost->depth == 0 || (depth_to_try(cost) == 0 && !alone_may_do(cost)))
		cost->direction = 1;
	if (cost->depth == COST_DEPTH_MAX)
		cost->direction = -1;
	if (cost->direction != direction)
		cost->votes = 0;
	cost->probing = true;
}

/* One alone leaves the device idle until the next has begun, which no time told here shows:
 * therefore the second must bring half as much as any other. */
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

static bool better(const struct cost *cost, double rate)
{
	return rate - cost->base_work >= least_gain(cost);
}

/* Two rounds at the same depth that differ were too short to tell anything. */
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

/* The first question is whether to read ahead at all; when it is, the next are how many. */
static void vote(struct cost *cost, bool good)
{
	if (cost->starting && depth_to_try(cost) == 0 && !good) {
		cost->direction = 1;
		cost->base_work = 0;
		return;
	}
	cost->votes += good ? 1 : -1;
	cost->starting = cost->starting && good && cost->depth < COST_DEPTH_MAX;
	if (cost->starting || cost->votes == ACCEPT || cost->votes == REJECT)
		decide(cost);
}

/* What is read ahead all the same has another reason than that all will be wanted. */
static bool alone_in_vain(const struct cost *cost)
{
	return depth_now(cost) == 0 &&
	       (cost_dear(cost) || 2 * cost->round_ahead > cost->round_work);
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

	if (alone_in_vain(cost)) {
		leave_alone(cost);
		return;
	}
	if (cost->probing) {
		cost->probing = false;
		vote(cost, better(cost, rate));
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

/* The work of the others is counted as far as this one was under way. */
static double work_meanwhile(const struct cost *cost, double own, uint64_t added, uint64_t elapsed)
{
	double others = cost->pending > own ? cost->pending - own : 0;

	return own + (added < elapsed ? others * (double)added / (double)elapsed : others);
}

static void begin_round(struct cost *cost)
{
	cost->since = cost->streaming.until;
	if (cost->since < cost->busy.until)
		cost->since = cost->busy.until;
	cost->round_work = cost->round_ahead = 0;
	cost->round_reads = cost->round_ns = 0;
}

static uint64_t least_ns(const struct cost *cost)
{
	return cost->depth == 0 || depth_to_try(cost) == 0 ? ROUND_NS_MAX : cost->round_long;
}

static void end_round(struct cost *cost)
{
	if (cost->round_reads < ROUND_READS || cost->round_ns < least_ns(cost))
		return;
	judge(cost);
	begin_round(cost);
}

/* A round without reads ahead begins with the end of a read that began when they had ended. */
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

/* One ahead: of the stream that was there before the round, or of another, that goes on. */
static void count_beside(struct cost *cost, double bytes, uint64_t begin)
{
	if (begin >= cost->since)
		cost->round_ahead += bytes;
	else if (cost->round_reads > 1)
		cost->round_work -= bytes;
}

void cost_read(struct cost *cost, uint64_t bytes, uint64_t begin, uint64_t end)
{
	cost->ns += busy_add(&cost->busy, begin, end);
	cost->bytes += bytes;
	cost->reads++;
	cost->pending += (double)bytes;
	end_window(cost);
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
	double own = (double)bytes, all = work_meanwhile(cost, own, added, elapsed);

	cost->pending = 0;
	/* A round is of reads that began in it, and of one size. */
	if (differs(cost) || cost->windows < LEARNED)
		begin_round(cost);
	if (depth_now(cost) == 0) {
		count_beside(cost, own, begin);
		return;
	}
	if (begin < cost->since)
		return;
	cost->round_ahead += own;
	cost->round_work += all;
	cost->round_ns += added;
	cost->round_reads++;
	end_round(cost);
}

unsigned cost_depth(const struct cost *cost, unsigned wanted)
{
	unsigned depth = depth_now(cost) ? depth_now(cost) : 1;
	unsigned taken = cost_dear(cost) ? wanted : 0;

	return depth > taken ? depth - taken : 0;
}
