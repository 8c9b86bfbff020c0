/* What a job loads so that it asks foldfs less: a shared object (preload/object.c), which does
 * calls that surely have nothing to do with the pack by an instruction that the filter lets pass.
 * Of the calls that `import torch` makes, that is most. Who opens a file of the pack by it is told
 * what fstat(2) will say, from Linux 5.19 on. And what waits for something else than foldfs ends by
 * signals as anywhere (preload/signals.c). Without it, calls are slower, and such ones are repeated
 * instead: in static programs, Go, or children with an environment of their own.
 *
 * This is no border: a job that passes others by the filter sees empty folders. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct seccomp_data;

/* In the environment of the job, in hexadecimal: the mark, the device of files in memory, device,
 * inode and mount of the folder, and whether files in it have devices of their own; and its path.
 */
#define PRELOAD_VARIABLE "FOLDFS_NO_FUSE"

/* What a thread is told of a file that it opens. */
struct preload_told {
	uint64_t device, inode, seconds, nanoseconds; /* the file in memory, and when it changed; */
	uint32_t uid, gid; /* its owners, as processes of the same user namespace see them */
	uint64_t stat[18]; /* the file of the pack: struct stat */
};

/* The sixth argument of openat(2) where the fifth is the address for that, but for the place that
 * the call returns to. */
#define PRELOAD_TELL(mark) (~(mark))

struct skeleton;

/* Sets the environment of this process, which becomes the job. Returns the mark; 0: nothing will be
 * marked, as the object was not installed, or as another mount shows the folder, too. */
uint64_t preload_set(const struct skeleton *skeleton);

/* Whether a call asks to be told, and where. */
bool preload_asks(uint64_t mark, const struct seccomp_data *call, uint64_t *address);
