#include "cache/plan/flight.h"

/* A round has as many reads that began in it as are under way. It is judged by Little's law: n
 * reads under way that take t bring n s / t. So it does not matter that reads which began together
 * end together, as they do after each change, and whatever began before is left out. Readers that
 * are slower than the link leave fewer reads under way than there may be: such rounds say nothing.
 *
 *	climbing: depth * 2, while that <---+-------------------+
 *	   |      brings a tenth more       |                   |
 *	   | less: the depth before         | much more         | up, a tenth more
 *	   v                                |                   |
 *	resting, `patience` rounds ---------+---> probing: depth * 1.5, or, `down`, * 0.75
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
#define ROUND_NS     50000000
#define ROUND_READS  16
#define USED	     (3.0 / 4) /* of the depth, at least, on average */
#define GAIN	     1.1
#define LOSS	     0.99
#define MORE	     1.25
#define SMOOTH	     4
#define REST	     4 /* rounds */
#define PATIENCE_MAX 64
#define RESIZED	     2.0 /* times as large, or as small */

#define KEEP	(1 - 1.0 / 256)
#define LATENCY 1.5e6 /* bytes that a connection would bring in L: 30 ms, 50 MB/s */

void flight_init(struct flight *flight)
{
	*flight = (struct flight){
		.depth = FLIGHT_START, .climbing = true, .rest = REST, .patience = REST};
}

/* --- the depth -------------------------------------------------------------------------------- */

static unsigned within(double depth)
{
	return depth < FLIGHT_MIN ? FLIGHT_MIN : depth > FLIGHT_MAX ? FLIGHT_MAX : (unsigned)depth;
}

static void try_depth(struct flight *flight, double depth)
{
	flight->before = flight->depth;
	flight->depth = within(depth);
}

static void climb(struct flight *flight, double rate)
{
	if (flight->base > 0 && rate < GAIN * flight->base) {
		flight->depth = flight->before;
		flight->climbing = false;
		return;
	}
	flight->base = rate;
	flight->climbing = flight->depth < FLIGHT_MAX;
	if (flight->climbing)
		try_depth(flight, 2.0 * flight->depth);
}

static void judge_probe(struct flight *flight, double rate)
{
	bool good = rate > (flight->down ? LOSS : GAIN) * flight->base;

	flight->probing = false;
	if (good) {
		flight->base = flight->down ? rate : 0;
		flight->patience = REST;
	} else {
		flight->depth = flight->before;
		flight->down = !flight->down;
		if (flight->patience < PATIENCE_MAX)
			flight->patience *= 2;
	}
	flight->rest = flight->patience;
	if (good && !flight->down)
		climb(flight, rate);
}

/* Much more than before: others use less of the link. */
static void hold(struct flight *flight, double rate)
{
	bool measured = flight->base > 0, more = measured && rate > MORE * flight->base;

	flight->base += (rate - flight->base) / (measured ? SMOOTH : 1);
	if (more && flight->depth < FLIGHT_MAX) {
		climb(flight, rate);
	} else if (flight->rest) {
		flight->rest--;
	} else {
		flight->down =
			flight->depth == FLIGHT_MAX || (flight->down && flight->depth > FLIGHT_MIN);
		flight->probing = true;
		try_depth(flight, flight->depth * (flight->down ? 0.75 : 1.5));
	}
}

/* On average. */
static double under_way(const struct flight *flight)
{
	return (double)flight->under_way / (double)flight->reads;
}

static void judge(struct flight *flight)
{
	double size = (double)flight->bytes / (double)flight->reads;
	double rate = under_way(flight) * (double)flight->bytes * 1e9 / (double)flight->time;

	if (flight->size > 0 && (size > RESIZED * flight->size || size * RESIZED < flight->size)) {
		/* As many as bring the same, of reads of another size. */
		flight->depth =
			within(flight->depth * (LATENCY / size + 1) / (LATENCY / flight->size + 1));
		flight->base = 0;
		flight->climbing = true;
		flight->probing = false;
	} else if (flight->climbing) {
		climb(flight, rate);
	} else if (flight->probing) {
		judge_probe(flight, rate);
	} else {
		hold(flight, rate);
	}
	flight->size = size;
}

/* --- rounds ----------------------------------------------------------------------------------- */

void flight_read(struct flight *flight, uint64_t bytes, uint64_t begin, uint64_t end,
		 unsigned under_way_now)
{
	if (end > flight->last)
		flight->last = end;
	if (begin < flight->since || end <= begin)
		return;
	flight->bytes += bytes;
	flight->time += end - begin;
	flight->reads++;
	flight->under_way += under_way_now;
	if (end - begin > flight->longest)
		flight->longest = end - begin;
	if (flight->reads < ROUND_READS || flight->reads < flight->depth ||
	    flight->last < flight->since + ROUND_NS)
		return;
	flight->slowest *= KEEP;
	if ((double)flight->longest > flight->slowest)
		flight->slowest = (double)flight->longest;
	flight->mean = (struct flight_mean){.bytes = flight->bytes / flight->reads,
					    .ns = flight->time / flight->reads};
	if (under_way(flight) >= USED * flight->depth)
		judge(flight);
	flight->since = flight->last;
	flight->bytes = flight->time = flight->reads = flight->under_way = flight->longest = 0;
}

unsigned flight_depth(const struct flight *flight)
{
	return flight->depth;
}

struct flight_mean flight_mean(const struct flight *flight)
{
	return flight->mean;
}

uint64_t flight_stall(const struct flight *flight)
{
	return (uint64_t)(flight->base * flight->slowest / 1e9);
}
