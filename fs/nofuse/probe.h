/* Whether this kernel, and what this process may do here, are enough for the calls of a job to be
 * answered: a process of a test asks for a file, and gets one. */
#pragma once

#include "base/err.h"

/* Returns 0, or -errno with what is missing, and the way out. */
int probe_listener(struct err *err);
