#include "cache/plan/learner.h"
#include "base/math.h"

/* Finding a / b, near. The time of one read says little: it waits behind others in a queue, or
 * shares the device with them, and which of the two is unknown. Either way the device does the
 * work it is given, so over a window of some reads, but for its edges,
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
 * queue (unless they bring what lies around them: learner_seek_bound()). The gain is compared with
 * the bytes read ahead, since one more than d can bring 1/d of those.
 *
 * A probe and the round before it are a vote. Three more votes for than against change the depth;
 * two more against end the attempt, and each one that fails makes the next come later. Until the
 * first vote against, each vote changes the depth (BBR's startup), since an epoch is short on a
 * device that takes many reads at once. Rounds at the same depth that differ make rounds longer:
 * limits by cgroup or by the provider of a volume let a burst through, then nothing for 20 to
 * 100 ms.
 *
 * Near, depth 0 is tried first. If wanted reads alone keep the device busy with bytes, reading
 * ahead brings no byte sooner, but delays the readers. They fall behind the sweep, and when it has
 * ended, the device is idle until they have read the rest from memory. If the sweep takes a share
 * s of the device, readers have read 1 - (1 - t)^(1 - s) of everything at the time t of the sweep;
 * with s = 0.85, as measured on a volume of 500 MB/s, that cost a fifth of the epoch. Rounds at
 * depth 0 last from the end of one wanted read to the end of another, so that readers that pause
 * count as slow, and are long, so that no burst decides.
 *
 * Far, a round has as many reads that began in it as are under way. It is judged by Little's law: n
 * reads under way that take t bring n s / t. So it does not matter that reads which began together
 * end together, as they do after each change, and whatever began before is left out. Readers that
 * are slower than the link leave fewer reads under way than there may be: such rounds say nothing.
 * One vote decides, as a round has many reads:
 *
 *	starting: depth * 2, while that <---+-------------------+
 *	   |      brings a tenth more       |                   |
 *	   | less: the depth before         | much more         | up, a tenth more
 *	   v                                |                   |
 *	resting, `patience` rounds ---------+---> probing: depth * 1.5, or, down, * 0.75
 *	   ^                                                    |
 *	   +----------------------------------------------------+
 *	     down, as much: that depth, patience REST
 *	     in vain: the depth before, the other way, patience * 2
 *
 * More than needed costs little, since reads wait in the network instead of here, and fewer than
 * needed costs bandwidth: hence large steps up and small ones down.
 *
 * Reads of another size need another depth: for the same bytes a second, n is as (L r + s) / s.
 * Climbing begins anew from there. L r is assumed: on a link that is full, reads show other values.
 */
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

/* Far. */
#define FAR_MIN		 8u
#define FAR_NS		 50000000
#define FAR_READS	 16
#define USED		 (3.0 / 4) /* of the depth, at least, on average */
#define GAIN		 1.1
#define LOSS		 0.99
#define MORE		 1.25
#define SMOOTH		 4
#define REST		 4 /* rounds */
#define FAR_PATIENCE_MAX 64
#define RESIZED		 2.0 /* times as large, or as small */
#define KEEP_SLOWEST	 (1 - 1.0 / 256)
#define LATENCY		 1.5e6 /* bytes that a connection would bring in L: 30 ms, 50 MB/s */

/* Returns how much longer the union became. */
static uint64_t busy_add(struct busy *busy, uint64_t begin, uint64_t end)
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

void learner_init(struct learner *l, bool far)
{
	*l = (struct learner){.far = far,
			      .ratio = LEARNER_GAP_START,
			      .run = far ? LEARNER_RUN_MAX : LEARNER_RUN_START,
			      .assumed = LEARNER_GAP_START,
			      .wanted = LEARNER_GAP_START,
			      .depth = far ? LEARNER_FAR_START : 2,
			      .direction = far ? 1 : -2,
			      .starting = true,
			      .rest = far ? REST : 0,
			      .patience = far ? REST : 0,
			      .round_long = ROUND_NS};
}

/* --- a / b ---------------------------------------------------------------------------------- */

/* The share of its time that the device spends on requests, at the mean z. */
static double request_share(const struct learner *l)
{
	double assumed = l->assumed * l->z / (1 + l->assumed * l->z);
	double zz = l->zz / (l->z * l->z), zr = l->zr / (l->z * l->r);
	double share = (zr + DOUBT * assumed) / (zz + DOUBT);

	return share < 0 ? 0 : share > 1 ? 1 : share;
}

/* a / b */
static uint64_t ratio(const struct learner *l)
{
	double share = request_share(l);

	if (share >= (1 - share) * LEARNER_GAP_MAX * l->z)
		return LEARNER_GAP_MAX;
	return (uint64_t)(share / (1 - share) / l->z);
}

/* Means and sums of products around them, each decayed by KEEP a window. */
static void learn(struct learner *l, double z, double r)
{
	double dz, dr;

	if (l->windows) {
		/* At most OUTLIER times what the line has at z. */
		double line = l->r + request_share(l) * l->r / l->z * (z - l->z);

		r = r < OUTLIER * line ? r : OUTLIER * line;
	} else {
		/* Reads that are alike do not tell requests from bytes. Where they take longer than
		 * the bytes do on any usual device, requests are dear: a hard disk is known by its
		 * first reads. */
		double slow = (r / SLOW_NS - 1) / z;

		if (slow > l->assumed)
			l->assumed = slow < LEARNER_GAP_MAX ? slow : LEARNER_GAP_MAX;
	}
	dz = z - l->z;
	dr = r - l->r;
	l->weight = KEEP * l->weight + 1;
	l->z += dz / l->weight;
	l->r += dr / l->weight;
	l->zz = KEEP * l->zz + dz * (z - l->z);
	l->zr = KEEP * l->zr + dz * (r - l->r);
	l->windows++;
	l->ratio = ratio(l);
	l->assumed += ((double)l->ratio - l->assumed) / ASSUMED_WINDOWS;
}

/* Some windows in a row must agree: more of them after much was learned. */
static void adapt_run(struct learner *l)
{
	uint64_t wanted = RUN_RATIOS * l->ratio;
	int enough = l->windows < EXPERIENCED ? 2 : 4;

	if (4 * wanted > 5 * l->run && l->run < LEARNER_RUN_MAX)
		l->leaning = l->leaning > 0 ? l->leaning + 1 : 1;
	else if (4 * wanted <= l->run && l->run > LEARNER_RUN_MIN)
		l->leaning = l->leaning < 0 ? l->leaning - 1 : -1;
	else
		l->leaning = 0;
	if (l->leaning != enough && l->leaning != -enough)
		return;
	l->run = l->leaning > 0 ? l->run * 2 : l->run / 2;
	l->leaning = 0;
}

uint64_t learner_gap(const struct learner *l)
{
	return clamp(l->ratio, LEARNER_GAP_MIN, LEARNER_GAP_MAX);
}

/* Whether learner_run() differs from the best one, to learn from it. */
static bool differs(const struct learner *l)
{
	return l->windows % (l->windows < EXPERIENCED ? 4 : EXPERIENCED) == 1;
}

uint64_t learner_run(const struct learner *l)
{
	if (l->far || !differs(l))
		return l->run;
	return l->run > LEARNER_RUN_MIN ? l->run / 2 : l->run * 2;
}

void learner_wanted(struct learner *l, uint64_t bytes)
{
	l->wanted += ((double)bytes - l->wanted) / WINDOW_READS;
}

bool learner_seek_bound(const struct learner *l)
{
	return !l->far && l->wanted / (l->wanted + (double)l->ratio) < SEEK_BOUND;
}

/* --- depth, near ----------------------------------------------------------------------------- */

static unsigned within(double depth)
{
	return (unsigned)clamp((uint64_t)depth, FAR_MIN, LEARNER_FAR_MOST);
}

static unsigned depth_to_try(const struct learner *l)
{
	if (!l->far)
		return l->depth + (unsigned)l->direction;
	return within(l->depth * (l->starting ? 2 : l->direction > 0 ? 1.5 : 0.75));
}

/* That of the round under way. */
static unsigned depth_now(const struct learner *l)
{
	return l->probing ? depth_to_try(l) : l->depth;
}

bool learner_alone(const struct learner *l)
{
	return depth_now(l) == 0 && !learner_seek_bound(l);
}

/* Depth 0 is not tried where requests cost much, nor while hardly anything is wanted. */
static void begin_probe(struct learner *l)
{
	bool alone_may_do = !learner_seek_bound(l) && l->round_ahead < MOST * l->round_work;
	int direction = l->direction;

	if (l->depth == 0 || (depth_to_try(l) == 0 && !alone_may_do))
		l->direction = 1;
	if (l->depth == LEARNER_NEAR_MOST)
		l->direction = -1;
	if (l->direction != direction)
		l->votes = 0;
	l->probing = true;
}

/* A single read ahead leaves the device idle until the next has begun, which the reported times do
 * not show: so the second must bring only half as much as any other. */
static double least_gain(const struct learner *l)
{
	bool up = l->direction > 0;

	if (l->depth == 0)
		return EXTRA * l->round_ahead / (double)l->round_ns;
	if (depth_to_try(l) == 0)
		return -EXTRA * l->base_ahead;
	if (up)
		return l->base_ahead / (l->depth == 1 ? 20 : 10);
	return -l->base_ahead / (l->depth == 2 ? 40 : 20);
}

/* Two rounds at the same depth that differ were too short to judge by. */
static bool steady(struct learner *l, double rate)
{
	double change = rate - l->base_work;

	if (l->base_work == 0)
		return true;
	if (change > l->base_work / 6 || change < -l->base_work / 6) {
		l->round_long = clamp(l->round_long * 2, ROUND_NS, ROUND_NS_MAX);
		return false;
	}
	l->round_long = clamp(l->round_long * 7 / 8, ROUND_NS, ROUND_NS_MAX);
	return true;
}

/* First whether to read ahead at all is decided, then how many at once. */
static void vote(struct learner *l, bool good)
{
	if (l->starting && depth_to_try(l) == 0 && !good) {
		l->direction = 1;
		l->base_work = 0;
		return;
	}
	l->votes += good ? 1 : -1;
	l->starting = l->starting && good && l->depth < LEARNER_NEAR_MOST;
	if (!l->starting && l->votes != ACCEPT && l->votes != REJECT)
		return;
	if (l->votes > 0) {
		l->depth = depth_to_try(l);
		l->base_work = 0;
		l->patience = l->depth ? 0 : PATIENCE_ALONE;
		l->starting = l->starting && l->depth;
	} else {
		l->direction = l->direction > 0 ? -1 : 1;
		l->patience = (unsigned)clamp(2 * l->patience + 1, 0, PATIENCE_MAX);
	}
	l->rest = l->patience;
	l->votes = 0;
}

static void leave_alone(struct learner *l)
{
	l->depth = 1;
	l->direction = 1;
	l->probing = false;
	l->votes = 0;
	l->rest = l->patience = 0;
	l->base_work = 0;
}

static void judge(struct learner *l)
{
	double rate = l->round_work / (double)l->round_ns;

	/* Much is read ahead all the same: not by the sweep, so doing without it gains nothing. */
	if (depth_now(l) == 0 && (learner_seek_bound(l) || 2 * l->round_ahead > l->round_work)) {
		leave_alone(l);
		return;
	}
	if (l->probing) {
		l->probing = false;
		vote(l, rate - l->base_work >= least_gain(l));
		return;
	}
	if (steady(l, rate)) {
		if (l->rest)
			l->rest--;
		else
			begin_probe(l);
	}
	l->base_work = rate;
	l->base_ahead = l->round_ahead / (double)l->round_ns;
}

static void begin_round(struct learner *l)
{
	l->since = l->streaming.until;
	if (l->since < l->busy.until)
		l->since = l->busy.until;
	l->round_work = l->round_ahead = 0;
	l->round_reads = l->round_ns = l->under_way = l->longest = 0;
}

static void end_round(struct learner *l)
{
	bool alone = l->depth == 0 || depth_to_try(l) == 0;

	if (l->round_reads < ROUND_READS || l->round_ns < (alone ? ROUND_NS_MAX : l->round_long))
		return;
	judge(l);
	begin_round(l);
}

/* A round without reads ahead begins at the end of a read that began after they had ended. */
static void count_alone(struct learner *l, uint64_t bytes, uint64_t begin, uint64_t end)
{
	if (l->windows < LEARNED || (l->round_reads == 0 && begin < l->since))
		return;
	if (l->round_reads++ == 0) {
		l->since = end;
		return;
	}
	l->round_work += (double)bytes;
	l->round_ns = end > l->since ? end - l->since : 0;
	end_round(l);
}

static void count_ahead(struct learner *l, uint64_t bytes, uint64_t begin, uint64_t end)
{
	uint64_t last = l->streaming.until, elapsed = end > last ? end - last : 0;
	uint64_t added = busy_add(&l->streaming, begin, end);
	double own = (double)bytes, others = l->pending > own ? l->pending - own : 0;

	/* Bytes of the other reads count as far as they fall into the time of this one. */
	if (added < elapsed)
		others *= (double)added / (double)elapsed;
	l->pending = 0;
	/* A round has reads that began in it, all of one size. */
	if (differs(l) || l->windows < LEARNED)
		begin_round(l);
	/* In a round that has none of the sweep it began before the round, or is a scan's or a
	 * known order's. */
	if (depth_now(l) == 0) {
		if (begin >= l->since)
			l->round_ahead += own;
		else if (l->round_reads > 1)
			l->round_work -= own;
		return;
	}
	if (begin < l->since)
		return;
	l->round_ahead += own;
	l->round_work += own + others;
	l->round_ns += added;
	l->round_reads++;
	end_round(l);
}

/* A read of any kind: a / b is learned from it. */
static void count_window(struct learner *l, uint64_t bytes, uint64_t begin, uint64_t end)
{
	l->ns += busy_add(&l->busy, begin, end);
	l->bytes += bytes;
	l->reads++;
	if (l->reads < WINDOW_READS || l->ns < WINDOW_NS)
		return;
	learn(l, (double)l->reads / (double)l->bytes, (double)l->ns / (double)l->bytes);
	adapt_run(l);
	l->reads = l->bytes = l->ns = 0;
}

/* --- depth, far ------------------------------------------------------------------------------ */

static void climb(struct learner *l, double rate)
{
	l->base_work = rate;
	l->starting = l->probing = l->depth < LEARNER_FAR_MOST;
}

/* Between two probes. Much more than before: others use less of the link. */
static void hold(struct learner *l, double rate)
{
	bool known = l->base_work > 0;

	if (known && rate > MORE * l->base_work && l->depth < LEARNER_FAR_MOST) {
		climb(l, rate);
		return;
	}
	l->base_work += (rate - l->base_work) / (known ? SMOOTH : 1);
	if (l->rest) {
		l->rest--;
		return;
	}
	if (l->depth == FAR_MIN || l->depth == LEARNER_FAR_MOST)
		l->direction = l->depth == FAR_MIN ? 1 : -1;
	l->probing = true;
}

static void judge_far(struct learner *l, double rate)
{
	bool up = l->starting || l->direction > 0, probed = l->probing;
	bool good = rate >= (up ? GAIN : LOSS) * l->base_work;

	if (!l->starting && !probed) {
		hold(l, rate);
		return;
	}
	if (probed && good)
		l->depth = depth_to_try(l);
	l->probing = false;
	if (!l->starting) {
		l->patience = good ? REST : (unsigned)min(2 * l->patience, FAR_PATIENCE_MAX);
		l->rest = l->patience;
	}
	if (good && up) {
		climb(l, rate);
	} else if (good) {
		l->base_work = rate;
	} else if (l->starting) {
		l->starting = false;
	} else {
		l->direction = -l->direction;
	}
}

/* As many as bring the same, of reads of another size. */
static bool resized(struct learner *l, double size)
{
	double before = l->size;

	l->size = size;
	if (before == 0 || (size <= RESIZED * before && size * RESIZED >= before))
		return false;
	l->depth = within(depth_now(l) * (LATENCY / size + 1) / (LATENCY / before + 1));
	l->base_work = 0;
	l->starting = true;
	l->probing = false;
	return true;
}

static void end_far_round(struct learner *l)
{
	double reads = (double)l->round_reads, under_way = (double)l->under_way / reads;

	l->mean_bytes = (uint64_t)l->round_work / l->round_reads;
	l->mean_ns = l->round_ns / l->round_reads;
	l->slowest *= KEEP_SLOWEST;
	if ((double)l->longest > l->slowest)
		l->slowest = (double)l->longest;
	if (under_way >= USED * depth_now(l) && !resized(l, l->round_work / reads))
		judge_far(l, under_way * l->round_work / (double)l->round_ns);
	begin_round(l);
}

static void count_far(struct learner *l, const struct learner_read *read)
{
	l->streaming.until = max(l->streaming.until, read->end);
	if (read->begin < l->since || read->end <= read->begin)
		return;
	l->round_work += (double)read->bytes;
	l->round_ns += read->end - read->begin;
	l->round_reads++;
	l->under_way += read->under_way;
	l->longest = max(l->longest, read->end - read->begin);
	if (l->round_reads >= max(FAR_READS, depth_now(l)) &&
	    l->streaming.until >= l->since + FAR_NS)
		end_far_round(l);
}

/* --- reports and answers --------------------------------------------------------------------- */

void learner_read(struct learner *l, const struct learner_read *read)
{
	if (l->far) {
		count_far(l, read);
		return;
	}
	l->pending += (double)read->bytes;
	count_window(l, read->bytes, read->begin, read->end);
	if (depth_now(l) == 0)
		count_alone(l, read->bytes, read->begin, read->end);
	if (read->ahead)
		count_ahead(l, read->bytes, read->begin, read->end);
}

void learner_idle(struct learner *l, uint64_t now)
{
	if (learner_alone(l) && now > l->busy.until + LEARNER_IDLE_NS) {
		leave_alone(l);
		begin_round(l);
	}
}

unsigned learner_depth(const struct learner *l, unsigned wanted)
{
	unsigned depth = depth_now(l) ? depth_now(l) : 1;
	unsigned taken = learner_seek_bound(l) ? wanted : 0;

	return depth > taken ? depth - taken : 0;
}

uint64_t learner_stall(const struct learner *l)
{
	return (uint64_t)(l->base_work * l->slowest);
}
