/* Where records go, in the order of their numbers: into shards one after the other, or, of a format
 * with one file, into an LMDB. Not thread-safe. */
#pragma once

#include "pack/tool/export/format.h"
#include "pack/tool/export/outputs.h"
#include "pack/tool/export/shard_plan.h"

struct sink;

/* Shard i goes into output i. If the format has lists, the list of shard i goes into output i + the
 * number of shards. What is passed is borrowed. All of these return 0 or -errno. */
int sink_new(const struct export_format *format, const struct shard_plan *plan,
	     struct outputs *outputs, struct sink **ret);
void sink_free(struct sink *sink); /* NULL is fine */
int sink_put(struct sink *sink, const void *record, size_t len);
/* To be called after the last record. */
int sink_end(struct sink *sink);
