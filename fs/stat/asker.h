/* Asks one mount for something, in a process of its own: a daemon that does not answer holds up
 * neither what else there is to do, nor the end of the program, as a thread of it would. Not even
 * SIGKILL ends a process whose question the daemon has in hand. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct asker;

/* What is asked, in that process: adds the answer to buf. Returns 0, or -errno with or without a
 * sentence. */
typedef int asker_question(void *context, struct buf *buf, struct err *err);

/* The process ends with this one. Call it where there are no threads. Returns NULL with errno. */
struct asker *asker_new(asker_question *question, void *context);
/* For the stats of the mount on a path: mounts_ask(). */
struct asker *asker_of_stats(const char *path);

/* Ends the process; does not wait where it waits for the mount. */
void asker_free(struct asker *asker);

/* Begins a question; to be called once the answer to the last one was taken. Returns 0 or -errno.
 */
int asker_ask(struct asker *asker);

/* For poll(2): readable once the answer is there. */
int asker_fd(const struct asker *asker);

/* Takes the answer, or waits for it: adds it to buf. Returns what the question returned, or -errno.
 */
int asker_take(struct asker *asker, struct buf *buf, struct err *err);

/* Asks once, waits, which a signal that ends this process ends, and frees the asker. NULL is the
 * failure to make one. As asker_take(). */
int asker_once(struct asker *asker, struct buf *buf, struct err *err);
