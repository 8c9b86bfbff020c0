/* How many reads of remote storage should be under way at once, learned from their ends.
 *
 *	a read takes		L + s / r	  s bytes: the first after the latency L, then r a s
 *	n of them bring		n s / (L + s / r) a s, but not more than the bandwidth B
 *
 * so that n = B (L + s / r) / s fill the link. B is found by trying. Pure: no clock, no locks, no
 * allocation; tests replay simulated links. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FLIGHT_MIN   8u
#define FLIGHT_START 32u
#define FLIGHT_MAX   384u
#define FLIGHT_RUN   ((uint64_t)4 << 20) /* of a read, about at most: latency is little then */

/* Of a read; zero: not known yet. */
struct flight_mean {
	uint64_t bytes, ns;
};

/* To be embedded; the fields are flight.c's. */
struct flight {
	unsigned depth, before; /* now, and before it was changed to try another one */
	bool climbing;		/* it doubles as long as that pays */
	bool probing;
	bool down;		 /* the next probe */
	unsigned rest, patience; /* rounds until then; of the last rest */
	double base, size; /* bytes a second at `before`; 0: not known; bytes of a read then */

	/* Of the round under way: reads that began since. */
	uint64_t since, last;	   /* ns; last: the latest end of any */
	uint64_t bytes, time;	   /* ns of all together */
	uint64_t reads, under_way; /* the latter at each end, added up */
	uint64_t longest;	   /* ns */

	double slowest; /* ns of a read, decayed */
	struct flight_mean mean;
};

void flight_init(struct flight *flight);

/* A read of `bytes` (gaps included) began and ended (ns, monotonic), when `under_way` were ahead of
 * their readers, this one included. A little out of order is fine. */
void flight_read(struct flight *flight, uint64_t bytes, uint64_t begin, uint64_t end,
		 unsigned under_way);

/* Reads ahead that should be under way, FLIGHT_MIN..FLIGHT_MAX. */
unsigned flight_depth(const struct flight *flight);

/* Of the last round. */
struct flight_mean flight_mean(const struct flight *flight);
/* Bytes that come while the slowest read of late takes its time. */
uint64_t flight_stall(const struct flight *flight);
