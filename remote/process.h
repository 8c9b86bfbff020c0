/* Runs a program and reads what it writes. */
#pragma once

#include "base/buf.h"
#include <stdatomic.h>

#define PROCESS_BYTES 65536 /* a longer output is an error */

/* Reads its output, and ends it with a NUL that len does not count. Standard input is empty,
 * standard error is that of this process. Once *stops is true (NULL: never), the program is killed
 * within a tenth of a second. Returns 0, -ENOENT (no such program), -ETIMEDOUT (it took too long
 * and was killed), -ECANCELED, -EIO (it failed), -EMSGSIZE or -ENOMEM. */
int process_output(const char *const argv[], unsigned timeout_ms, const atomic_bool *stops,
		   struct buf *ret);
