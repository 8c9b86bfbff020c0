/* Which part of a folder a pack holds: the line "shard=3-of-15 BEFORE-AFTER" of its options.
 *
 * BEFORE and AFTER are hashes of how the folder was packed and of all files up to there. So shard 4
 * follows shard 3 only if both were cut from the folder in the same state. */
#pragma once

#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

struct shard {
	uint32_t number, of; /* counted from 0; of 0: all of a folder */
	uint64_t before, after;
};

#define SHARD_TEXT 64

/* The value of the line. */
void shard_write(const struct shard *shard, char ret[SHARD_TEXT]);
/* Finds it in the options of a pack. */
void shard_read(const char *options, size_t len, struct shard *ret);

/* Whether the neighbours of a shard are there: 0, or -ENOENT with a sentence that says which one is
 * missing. */
int shards_check(const struct shard *shards, size_t count, size_t which, struct err *err);
