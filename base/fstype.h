/* Kinds of filesystems, by what statfs(2) says. */
#pragma once

#include <stdbool.h>
#include <sys/vfs.h>

/* Whether other machines may use it too, and a request may take a round trip. True for all FUSE
 * filesystems, because it is unknown what serves them. */
bool fstype_is_remote(const struct statfs *fs);
/* Whether it is in memory, without a device. */
bool fstype_is_memory(const struct statfs *fs);
