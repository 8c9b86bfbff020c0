/* A private mount namespace, for when mounting in the common one is refused. */
#pragma once

#include "base/err.h"

/* Moves this process, which must have one thread, into a new user and mount namespace; the user
 * stays the same. From then on, only processes that it starts see its mounts, which vanish with the
 * last of these. Returns 0 or -errno with the way out. */
int namespace_enter(struct err *err);
