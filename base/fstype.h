/* Kinds of filesystems, by the f_type of statfs(2). */
#ifndef BASE_FSTYPE_H
#define BASE_FSTYPE_H

#include <stdbool.h>

/* Other machines may use it as well, and a request may take a round trip. This includes all FUSE
 * filesystems, as what serves them is unknown. */
bool fstype_is_remote(long type);
/* It has no device. */
bool fstype_is_memory(long type);

#endif
