/* How much memory this process may count on. */
#ifndef FS_MEMORY_H
#define FS_MEMORY_H

#include <stdint.h>

/* Bytes: MemAvailable of the machine, or the tightest limit of the cgroups (v1 or v2) that
 * this process is in, whichever is less. */
uint64_t memory_available(void);

#endif
