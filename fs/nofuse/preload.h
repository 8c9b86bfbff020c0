/* What a job loads so that it asks foldfs less: a shared object (preload/object.c), which does
 * calls that surely have nothing to do with the pack by an instruction that the filter lets pass.
 * Of the calls that `import torch` makes, that is most. Without it everything is the same, but
 * slower: for static programs, Go, or children with an environment of their own.
 *
 * This is no border: a job that passes others by the filter sees empty folders. */
#pragma once

#include <stdint.h>

/* In the environment of the job, in hexadecimal: the mark, the device of files in memory, device
 * and inode of the folder; and its path. */
#define PRELOAD_VARIABLE "FOLDFS_NO_FUSE"

struct skeleton;

/* Sets the environment of this process, which becomes the job. Returns the mark; 0: nothing will be
 * marked, as the object was not installed. */
uint64_t preload_set(const struct skeleton *skeleton);
