/* The disk cache of a mount: a folder with a copy of each of its packs. Several threads may find
 * and add packs at once. */
#pragma once

#include "base/err.h"
#include "base/reader.h"
#include "remote/reader_blocks.h"

struct disk_cache;

/* `spec`: the value of --cache-dir. Returns 0 or -errno with a sentence. */
int disk_cache_open(const char *spec, struct disk_cache **ret, struct err *err);
/* The folder that it writes to: a descriptor of the cache's. */
int disk_cache_folder(const struct disk_cache *disk);
/* As block_store_indexes(). */
const char *disk_cache_indexes(const struct disk_cache *disk);
void disk_cache_free(struct disk_cache *disk); /* after its readers; NULL is fine */

/* Ends its threads, as before a fork, once all that was read is written. All readers must rest. */
void disk_cache_rest(struct disk_cache *disk);

/* A reader that keeps a copy of what `far` reads; the cache forgets it when it is freed. Takes over
 * `far`, even on failure. Returns 0 or -ENOMEM. */
int disk_cache_add(struct disk_cache *disk, struct reader *far, struct reader **ret);

/* A reader of the copy of a place (base/reader.h) alone, if it is complete: for a pack that cannot
 * be reached. Returns 0 or -ENOENT. */
int disk_cache_find(struct disk_cache *disk, const char *place, struct reader **ret);

/* Begins to fetch what is missing of all packs. */
void disk_cache_fill(struct disk_cache *disk);

/* What all copies have and did; and what limits them, or otherwise what they do, in a word. */
const char *disk_cache_stats(struct disk_cache *disk, struct reader_blocks_stats *ret);
