/* A private mount namespace, where mounting in the common one is refused. */
#ifndef FS_NAMESPACE_H
#define FS_NAMESPACE_H

#include "base/err.h"

/* Moves this process, which has one thread, into a new user and mount namespace, with the same
 * user. Only processes that it starts from then on see its mounts, which vanish with the last of
 * them. Returns 0 or -errno with the way out. */
int namespace_enter(struct err *err);

#endif
