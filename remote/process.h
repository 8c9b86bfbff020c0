/* Runs a program and reads what it writes. */
#ifndef REMOTE_PROCESS_H
#define REMOTE_PROCESS_H

#include "base/buf.h"

#define PROCESS_BYTES 65536 /* a longer output is an error */

/* Its output, ended by a NUL that len does not count; the caller has ret released, which grew only
 * once. Standard input is empty, standard error is ours. Returns 0; -ENOENT: there is no such
 * program; -ETIMEDOUT: it was killed; -EIO: it failed; -EMSGSIZE; -ENOMEM. */
int process_output(const char *const argv[], unsigned timeout_ms, struct buf *ret);

#endif
