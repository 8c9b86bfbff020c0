/* Kinds of filesystems, by the f_type of statfs(2). */
#ifndef BASE_FSTYPE_H
#define BASE_FSTYPE_H

#include <stdbool.h>

/* Whether other machines may use it too, and a request may take a round trip. True for all FUSE
 * filesystems, because it is unknown what serves them. */
bool fstype_is_remote(long type);
/* Whether it is in memory, without a device. */
bool fstype_is_memory(long type);

#endif
