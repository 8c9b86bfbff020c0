/* A mount namespace of one's own, for users who may not mount in the common one. */
#ifndef FS_NAMESPACE_H
#define FS_NAMESPACE_H

#include "base/err.h"

/* Moves this process, which has one thread, into a new user and mount namespace, as the user
 * that it was. Whoever it starts from then on sees its mounts, nobody else does; they
 * vanish with the last of them. Returns 0 or -errno with the way out. */
int namespace_enter(struct err *err);

#endif
