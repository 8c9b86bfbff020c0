/* What libfuse, and the program fusermount3 that it runs, write to stderr: kept, to become part of
 * our message. For a process without threads. */
#pragma once

#include "base/err.h"

struct said {
	int usual, kept; /* stderr as it was; what is written meanwhile */
};

/* From now on, what is written to stderr is kept; shown as ever if that cannot be. */
struct said said_begin(void);
/* stderr is as it was. `ret` becomes all that was written, its lines joined. */
void said_end(struct said *said, struct err *ret);
