/* Storage that does not answer: says so in the log, and gives up reads where that is wanted.
 *
 * Storage that answers slowly, or only in part, must not fill the log. So a stall has ended only
 * when no read has waited for long at STALL_CALM looks in a row. */
#ifndef FS_STALL_H
#define FS_STALL_H

#include <stdbool.h>
#include <stdint.h>

struct mount;

#define STALL_MS   30000
#define STALL_CALM 30

struct stall { /* begins as {0} */
	bool lasts;
	unsigned calm; /* looks since a read has waited for long */
};

enum stall_news { STALL_NO_NEWS, STALL_BEGAN, STALL_ENDED };

/* Whether there is something to say. Pure. `oldest_ms`: for how long the first of the reads that
 * wait has waited. `given_up`: whether any was given up since the last look. */
enum stall_news stall_look(struct stall *stall, uint64_t oldest_ms, bool given_up);

/* To be called once a second, by one thread. */
void stall_watch(struct stall *stall, struct mount *mount);

#endif
