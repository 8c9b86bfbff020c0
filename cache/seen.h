/* What readers were seen to do, from the threads that serve them to the one that looks for their
 * order: a bounded ring. What finds it full is dropped, and counted.
 *
 *	seen_add ->  [ released | taken and in use | waiting | free ]
 *			      ^ begin				    ^ end
 *
 * Events are numbered from 0; those from `begin` to `end` can be read, again and again, until they
 * are released. Not thread-safe. */
#pragma once

#include <stdint.h>

#define SEEN_EVENTS 8192 /* a power of two: as long as the slowest step of the oracle, 0.2 s */

enum seen_kind {
	SEEN_ASKED,  /* a READ of the beginning of a file */
	SEEN_OPENED, /* the file was opened */
	SEEN_PUSHED, /* the kernel was given it before anybody asked */
};

struct seen_event {
	uint32_t reader; /* 0: not known */
	uint32_t file;	 /* by its first extent */
	enum seen_kind kind;
};

struct seen {
	uint64_t begin, end, dropped;
	struct seen_event events[SEEN_EVENTS];
};

static inline void seen_add(struct seen *seen, struct seen_event event)
{
	if (seen->end - seen->begin == SEEN_EVENTS)
		seen->dropped++;
	else
		seen->events[seen->end++ % SEEN_EVENTS] = event;
}

/* Copies events from number `from` on, at most `most`. Returns how many. */
static inline unsigned seen_read(const struct seen *seen, uint64_t from, struct seen_event *ret,
				 unsigned most)
{
	unsigned count = 0;

	while (count < most && from + count < seen->end) {
		ret[count] = seen->events[(from + count) % SEEN_EVENTS];
		count++;
	}
	return count;
}

static inline void seen_release(struct seen *seen, uint64_t until)
{
	seen->begin = until;
}
