/* Kinds of filesystems, by the f_type of statfs(2). */
#ifndef BASE_FSTYPE_H
#define BASE_FSTYPE_H

#include <stdbool.h>

/* Other machines may see it as well, and requests may take a way. So any FUSE filesystem, as nobody
 * can see what is behind it. */
bool fstype_is_remote(long type);
/* It has no device. */
bool fstype_is_memory(long type);

#endif
