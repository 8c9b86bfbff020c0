/* Where records go: an LMDB, or shards one after the other. Not thread-safe. */
#pragma once

#include "pack/tool/export/format.h"
#include "pack/tool/export/outputs.h"
#include "pack/tool/export/shard_plan.h"

struct sink_lmdb;
struct sink_shards;

/* Writes into output `number`. All of these return 0 or -errno. */
int sink_lmdb_new(struct outputs *outputs, size_t number, struct sink_lmdb **ret);
void sink_lmdb_free(struct sink_lmdb *sink);
/* Records come in the order of their numbers, from 0. */
int sink_lmdb_put(struct sink_lmdb *sink, const void *record, size_t len);
/* To be called after the last record. */
int sink_lmdb_end(struct sink_lmdb *sink);

/* Shard i goes into output i. If the format has lists, the list of shard i goes into output i + the
 * number of shards. What is passed is borrowed. */
int sink_shards_new(const struct export_format *format, const struct shard_plan *plan,
		    struct outputs *outputs, struct sink_shards **ret);
void sink_shards_free(struct sink_shards *sink);
/* The last record of a shard ends it. */
int sink_shards_put(struct sink_shards *sink, const void *record, size_t len);
