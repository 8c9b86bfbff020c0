/* The place of a future pack: what can be known about it before anything is written. */
#pragma once

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

/* Whether a pack at `path` would lie inside the directory that `source` is open on, or replace the
 * file that it is open on, however either is spelled. Returns 0; -EINVAL (it would, or path is not
 * a name for a file); or what opening the directory of the pack returned. err has the sentence. */
int target_check(const char *path, int source, struct err *err);

/* Whether `path` is, or would be, one of the files that packing to `pack` writes. */
bool target_is_of(const char *path, const char *pack);

/* Whether there is a file at `path` that a pack may replace. */
bool target_replaceable(const char *path);

/* Bytes that are free for the user on the filesystem of the pack; 0: not known. */
uint64_t target_free(const char *path);

/* About how much a pack of these files takes: bytes on pages, keys, and the index. */
uint64_t target_estimate(uint64_t bytes, uint64_t entries);

/* Opens an unnamed file in the folder of `path`, for what a pack is made from. Returns the
 * descriptor or -errno. */
int target_unnamed(const char *path);
