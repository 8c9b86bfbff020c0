/* Writes the samples of a dataset in another format.
 *
 *	samples, in order -> threads: read, checked, framed -> records, in order -> files
 *
 * The bytes inside at one time are bounded, except for a single sample that is larger. */
#pragma once

#include "pack/tool/export/format.h"
#include "pack/tool/export/outputs.h"
#include "pack/tool/export/shard_plan.h"
#include "pack/tool/work/progress.h"

struct export_params {
	const struct export_format *format;
	const struct export_source *source;
	const char *target;
	uint64_t shards;     /* 0: by their size */
	uint64_t shard_size; /* bytes */
	unsigned jobs;	     /* threads; at least 1 */
	struct progress *progress;
};

/* Plans the shards, and adds the names of all files to `outputs`: first those of the format, then
 * the names of classes, then the names of samples if the format has no place for them. Returns 0,
 * -EINVAL with a sentence (more shards than samples), -ENOMEM, or as dataset_load(). */
int export_plan(const struct export_params *params, struct shard_plan *plan,
		struct outputs *outputs, struct err *err);

/* Writes all of these files. Returns 0; -EINTR (interrupt.h); -EBADMSG or -EIO of a sample, with a
 * sentence that begins with its path; or what writing returned. */
int export_run(const struct export_params *params, const struct shard_plan *plan,
	       struct outputs *outputs, struct err *err);
