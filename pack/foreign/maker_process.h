/* The process of an index maker (maker.h): a python3 that runs index.py with one socket, and may
 * change no file and reach nobody. */
#pragma once

#include "base/err.h"
#include <sys/types.h>

/* Returns 0; -EOPNOTSUPP: index.py is not installed; or -errno. Who has the socket ends the process
 * by closing it. */
int maker_start(pid_t *ret_process, int *ret_socket, struct err *err);

/* Says that there is no python3. Returns -EOPNOTSUPP. */
int maker_lack_python(struct err *err);
