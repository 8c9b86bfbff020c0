/* Storage that does not answer: says so in the log, and gives up reads where that is wanted.
 *
 * Storage that answers slowly, or only in part, must not fill the log. So a stall has ended only
 * when no read has waited for long at STALL_CALM looks in a row, one a second. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cache;

#define STALL_MS   30000
#define STALL_CALM 30
#define STALL_REST 20 /* seconds; less than STALL_MS, so that no stall is seen late */

struct stall { /* begins as {0} */
	bool lasts;
	unsigned calm; /* looks since a read has waited for long */
};

enum stall_news { STALL_NO_NEWS, STALL_BEGAN, STALL_ENDED };

/* Whether there is something to say. Pure. `oldest_ms`: for how long the first of the reads that
 * wait has waited. `given_up`: whether any was given up since the last look. */
enum stall_news stall_look(struct stall *stall, uint64_t oldest_ms, bool given_up);

/* Seconds until the next look: a while if no read waits now. `limit`: seconds after which reads are
 * given up; 0: they are not. Pure. */
unsigned stall_wait(const struct stall *stall, bool reads_wait, uint64_t limit);

/* To be called by one thread. Returns the seconds after which it must be called again. `path`: of
 * the mount, for the log. */
unsigned stall_watch(struct stall *stall, struct cache *cache, uint64_t limit, const char *path);
