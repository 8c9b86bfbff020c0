/* Asks one mount for its stats, in a process of its own: a daemon that does not answer holds up
 * neither what else there is to do, nor the end of the program, as a thread of it would. */
#ifndef FS_STAT_ASKER_H
#define FS_STAT_ASKER_H

#include "base/buf.h"
#include "base/err.h"

struct asker;

/* The process ends with this one. Call it where there are no threads. Returns NULL with errno. */
struct asker *asker_new(const char *path);

/* Ends the process; does not wait where it waits for the mount. */
void asker_free(struct asker *asker);

/* Begins a question; to be called once the answer to the last one was taken. Returns 0 or -errno.
 */
int asker_ask(struct asker *asker);

/* For poll(2): readable once the answer is there. */
int asker_fd(const struct asker *asker);

/* Takes the answer, or waits for it: adds the stats to buf. Returns 0, or -errno as mounts_ask()
 * does. */
int asker_take(struct asker *asker, struct buf *buf, struct err *err);

#endif
