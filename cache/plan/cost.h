/* What the device charges, learned from the reads it did: how large a read ahead should be, how
 * many should run at once, and which gaps are cheaper to read than to leave out.
 *
 *	time the device is busy = a * requests + b * bytes
 *
 * Only the ratio a / b matters: the bytes that could have been read instead of asking once more.
 * Pure: no clock, no locks, no allocation; tests replay simulated devices. */
#ifndef CACHE_PLAN_COST_H
#define CACHE_PLAN_COST_H

#include <stdbool.h>
#include <stdint.h>

#define COST_RUN_MIN   ((uint64_t)256 << 10)
#define COST_RUN_START ((uint64_t)2 << 20)
#define COST_RUN_MAX   ((uint64_t)4 << 20)
/* What a request costs the processors is worth this much even where the device charges nothing. */
#define COST_GAP_MIN   ((uint64_t)32 << 10)
#define COST_GAP_START ((uint64_t)64 << 10)
#define COST_GAP_MAX   ((uint64_t)2 << 20)
#define COST_DEPTH_MAX 8
#define COST_IDLE_NS   ((uint64_t)50000000) /* without wanted reads, and they leave the device */

/* How long something was under way: the union of the intervals told, of which those that began
 * earlier may come later. */
struct cost_busy {
	uint64_t until;
	uint64_t gap_begin, gap_end; /* the last time without any */
};

/* To be embedded; the fields are cost.c's. */
struct cost {
	uint64_t ratio; /* a / b, bytes */
	uint64_t run;
	int leaning;	  /* the last window would have run grow, 1, or shrink, -1 */
	unsigned windows; /* learned from */

	/* Of the window under way. */
	struct cost_busy busy;
	uint64_t reads, bytes, ns;
	/* z is reads a byte, r ns a byte: their decayed means, the decayed sums of products around
	 * them, and the variance of r around the line, as a share of it. */
	double weight, z, r, zz, zr, noise;
	double assumed; /* a / b, as long as windows do not differ */
	double wanted;	/* bytes of a wanted record, decayed mean */

	/* Of the round under way, which began at `since` and takes round_long ns at least, or
	 * longer where depth 0 is judged: work of all reads and of those ahead. */
	struct cost_busy streaming;
	double pending; /* work of all since the last read ahead */
	uint64_t since, round_long, round_reads, round_ns;
	double round_work, round_ahead;

	unsigned depth;
	int direction; /* to probe next: 1 or -1; at first -2 */
	bool probing;  /* this round runs at depth + direction */
	bool starting; /* no probe but that of depth 0 has failed yet */
	int votes;
	unsigned rest, patience;      /* rounds until the next probe; of the last rest */
	double base_work, base_ahead; /* rates of the last round at this depth; 0: none yet */
};

void cost_init(struct cost *cost);

/* A read of `bytes` (gaps included) began and ended (ns, monotonic). To be told of all that the
 * device did, when they end; small disorder is fine. */
void cost_read(struct cost *cost, uint64_t bytes, uint64_t begin, uint64_t end);

/* The read just told to cost_read() was one ahead of the readers, of which cost_depth() were
 * allowed to run. Its end may be a later one: when the next could begin in its place. */
void cost_ahead(struct cost *cost, uint64_t bytes, uint64_t begin, uint64_t end);

/* a / b, bytes: a gap no longer than this is cheaper read than left out. COST_GAP_MIN..MAX. */
uint64_t cost_gap(const struct cost *cost);

/* Bytes the next read ahead should have, so that a is a small part of its time: a power of two,
 * COST_RUN_MIN..MAX. Differs now and then for a while, to learn from it: ask for each read. */
uint64_t cost_run(const struct cost *cost);

/* A record of `bytes` was wanted, and is not in memory. */
void cost_wanted(struct cost *cost, uint64_t bytes);

/* Whether requests cost so much more than the bytes of a record that a wanted one should bring
 * what lies around it, as far as that will be wanted too: a run, which the stream need not read. */
bool cost_dear(const struct cost *cost);

/* Reads ahead that should run at once, 0..COST_DEPTH_MAX, while `wanted` reads for somebody do;
 * differs for a while, as above. */
unsigned cost_depth(const struct cost *cost, unsigned wanted);

/* Whether wanted reads alone bring about as many bytes as with reads ahead beside them: what is
 * only read because all will be wanted, in whatever order, should not be now. */
bool cost_alone(const struct cost *cost);

/* Nobody waits for a read now: COST_IDLE_NS after the last one, cost_alone() is over. */
void cost_idle(struct cost *cost, uint64_t now);

#endif
