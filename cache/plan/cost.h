/* What the device charges, learned from its reads: how large a read ahead should be, how many
 * should run at once, and which gaps cost less to read than another request.
 *
 *	time the device is busy = a * requests + b * bytes
 *
 * Only the ratio a / b matters: the bytes that could have been read instead of asking once more.
 * Pure: no clock, no locks, no allocation; tests replay simulated devices. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define COST_RUN_MIN   ((uint64_t)256 << 10)
#define COST_RUN_START ((uint64_t)2 << 20)
#define COST_RUN_MAX   ((uint64_t)4 << 20)
/* What a request costs the processors, even where the device charges nothing for it. */
#define COST_GAP_MIN   ((uint64_t)32 << 10)
#define COST_GAP_START ((uint64_t)64 << 10)
#define COST_GAP_MAX   ((uint64_t)2 << 20)
#define COST_DEPTH_MAX 8
#define COST_IDLE_NS   ((uint64_t)50000000) /* without wanted reads: the device is free again */

/* How long something was under way: the union of the intervals added, in the order of their ends,
 * about. */
struct cost_busy {
	uint64_t until;
	uint64_t gap_begin, gap_end; /* the last time without any */
};

/* To be embedded; the fields are cost.c's.
 *
 * The depth is found in rounds. One at `depth` and one at depth + direction are a vote:
 *
 *	                       steady, and rested
 *	      at `depth` -----------------------------> at depth + direction: `probing`
 *	       ^  ^   | unsteady, or `rest`: another one      |
 *	       |  +---+                                       | better, or not
 *	       |                                              v
 *	       +--------------------------------------------votes
 *	            ACCEPT, or good while `starting`: depth += direction, no rest
 *	            REJECT: direction turns; `patience`, the next rest, doubles
 *
 * The first direction is from depth 2 to 0, where wanted reads alone keep the device busy. Depth 0
 * becomes 1 at once where that is in vain, and when nobody waits for a read any more. */
struct cost {
	uint64_t ratio; /* a / b, bytes */
	uint64_t run;
	int leaning;	  /* windows in a row that want runs longer, or, below 0, shorter */
	unsigned windows; /* learned from */

	/* Of the window under way. */
	struct cost_busy busy;
	uint64_t reads, bytes, ns;
	/* z is reads a byte, r ns a byte: their decayed means, and the decayed sums of products
	 * around them. */
	double weight, z, r, zz, zr;
	double assumed; /* a / b, while windows do not differ */
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
	bool starting; /* no probe has failed yet, but that of depth 0 */
	int votes;
	unsigned rest, patience;      /* rounds until the next probe; of the last rest */
	double base_work, base_ahead; /* rates of the last round at this depth; 0: none yet */
};

void cost_init(struct cost *cost);

/* A read of `bytes` (gaps included) began and ended (ns, monotonic). To be called at the end of
 * each read of the device; a little out of order is fine. */
void cost_read(struct cost *cost, uint64_t bytes, uint64_t begin, uint64_t end);

/* The read just passed to cost_read() was a read ahead, of which cost_depth() may run. `end` may be
 * later than its end: when the next one could begin. */
void cost_ahead(struct cost *cost, uint64_t bytes, uint64_t begin, uint64_t end);

/* a / b, bytes: up to here a gap costs less to read than a request. COST_GAP_MIN..MAX. */
uint64_t cost_gap(const struct cost *cost);

/* Bytes that the next read ahead should have, so that a is a small part of its time: a power of
 * two, COST_RUN_MIN..MAX. It is varied now and then to learn from it: ask before each read. */
uint64_t cost_run(const struct cost *cost);

/* A record of `bytes` was wanted, and is not in memory. */
void cost_wanted(struct cost *cost, uint64_t bytes);

/* Whether requests cost much more than the bytes of a record. Then a wanted record should be read
 * together with what lies around it and will be wanted too: a run. */
bool cost_seek_bound(const struct cost *cost);

/* Reads ahead that should run at once, 0..COST_DEPTH_MAX, beside `wanted` reads that somebody
 * waits for. Varied as above. */
unsigned cost_depth(const struct cost *cost, unsigned wanted);

/* Whether wanted reads alone bring about as many bytes as together with reads ahead. Then the sweep
 * should pause. */
bool cost_alone(const struct cost *cost);

/* Nobody waits for a read now. COST_IDLE_NS after the last one cost_alone() ends. */
void cost_idle(struct cost *cost, uint64_t now);
