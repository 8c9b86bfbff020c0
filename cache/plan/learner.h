/* What storage charges, learned from its reads: how large a read ahead should be, how many should
 * run at once, and which gaps cost less to read than another request.
 *
 *	near: time the device is busy = a * requests + b * bytes
 *	far:  time a read takes = L + s / r	s bytes: the first after the latency L, then r a s
 *
 * Near, only the ratio a / b matters: the bytes that could have been read instead of asking once
 * more. Far, n reads bring n s / (L + s / r) bytes a second, but not more than the bandwidth B, so
 * that n = B (L + s / r) / s fill the link. n is found by trying, near as far.
 * Pure: no clock, no locks, no allocation; tests replay simulated storage. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LEARNER_RUN_MIN	  ((uint64_t)256 << 10)
#define LEARNER_RUN_START ((uint64_t)2 << 20)
#define LEARNER_RUN_MAX	  ((uint64_t)4 << 20) /* far, always: latency is little then */
/* What a request costs the processors, even where the device charges nothing for it. */
#define LEARNER_GAP_MIN	  ((uint64_t)32 << 10)
#define LEARNER_GAP_START ((uint64_t)64 << 10)
#define LEARNER_GAP_MAX	  ((uint64_t)2 << 20)
#define LEARNER_NEAR_MOST 8u
#define LEARNER_FAR_START 32u
#define LEARNER_FAR_MOST  384u
#define LEARNER_IDLE_NS	  ((uint64_t)50000000) /* without wanted reads: the device is free again */

/* How long something was under way: the union of the intervals added, in the order of their ends,
 * about. */
struct busy {
	uint64_t until;
	uint64_t gap_begin, gap_end; /* the last time without any */
};

/* To be embedded; the fields are learner.c's.
 *
 * The depth is found in rounds: at `depth`, or at the next one to try, `probing`. Near, one of each
 * is a vote (far: learner.c):
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
struct learner {
	bool far;
	uint64_t ratio; /* a / b, bytes */
	uint64_t run;
	int leaning;	  /* windows in a row that want runs longer, or, below 0, shorter */
	unsigned windows; /* learned from */

	/* Of the window under way. */
	struct busy busy;
	uint64_t reads, bytes, ns;
	/* z is reads a byte, r ns a byte: their decayed means, and the decayed sums of products
	 * around them. */
	double weight, z, r, zz, zr;
	double assumed; /* a / b, while windows do not differ */
	double wanted;	/* bytes of a wanted record, decayed mean */

	/* Of the round under way, which began at `since` and takes round_long ns at least, or
	 * longer where depth 0 is judged: work of all reads and of those ahead. */
	struct busy streaming;
	double pending; /* work of all since the last read ahead */
	uint64_t since, round_long, round_reads, round_ns;
	double round_work, round_ahead;

	unsigned depth;
	int direction; /* to probe next: 1 or -1; near, at first -2 */
	bool probing;  /* this round runs at the depth to try */
	bool starting; /* no probe has failed yet, but that of depth 0 */
	int votes;
	unsigned rest, patience;      /* rounds until the next probe; of the last rest */
	double base_work, base_ahead; /* rates of the last round at this depth; 0: none yet */

	/* Far. Of the round under way: reads ahead at each end, added up; ns. */
	uint64_t under_way, longest;
	uint64_t mean_bytes, mean_ns; /* of a read of the last round */
	double size;		      /* bytes of a read when the depth was judged last */
	double slowest;		      /* ns of a read, decayed */
};

/* Far: reads are round trips to another machine, and many may be under way. */
void learner_init(struct learner *l, bool far);

/* All times are ns, monotonic. */
struct learner_read {
	uint64_t bytes; /* gaps included */
	uint64_t begin, end;
	bool ahead;	    /* of its readers */
	unsigned under_way; /* reads ahead at its end, this one included */
};

/* To be called at the end of each read of the storage; a little out of order is fine. */
void learner_read(struct learner *l, const struct learner_read *read);

/* a / b, bytes: up to here a gap costs less to read than a request. LEARNER_GAP_MIN..MAX. */
uint64_t learner_gap(const struct learner *l);

/* Bytes that the next read ahead should have, so that a is a small part of its time: a power of
 * two, LEARNER_RUN_MIN..MAX. It is varied now and then to learn from it: ask before each read. */
uint64_t learner_run(const struct learner *l);

/* A record of `bytes` was wanted, and is not in memory. */
void learner_wanted(struct learner *l, uint64_t bytes);

/* Whether requests cost much more than the bytes of a record. Then a wanted record should be read
 * together with what lies around it and will be wanted too: a run. */
bool learner_seek_bound(const struct learner *l);

/* Reads ahead that should be under way, beside `wanted` reads that somebody waits for: at most
 * LEARNER_NEAR_MOST or LEARNER_FAR_MOST. Varied as above. */
unsigned learner_depth(const struct learner *l, unsigned wanted);

/* Whether wanted reads alone bring about as many bytes as together with reads ahead. Then the sweep
 * should pause. */
bool learner_alone(const struct learner *l);

/* Nobody waits for a read now. LEARNER_IDLE_NS after the last one learner_alone() ends. */
void learner_idle(struct learner *l, uint64_t now);

/* Far: bytes that come while the slowest read of late takes its time. */
uint64_t learner_stall(const struct learner *l);
