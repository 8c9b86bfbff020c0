/* The objects that a pattern names: s3://BUCKET/a/train-*.lmdb, and the same of gs://. They are
 * asked of the bucket (ListObjectsV2), with what is before the first wildcard as prefix, page by
 * page. */
#pragma once

#include "remote/credentials.h"
#include "remote/remote.h"

/* Whether the key has wildcards. */
bool s3_is_pattern(const char *name);

/* Appends the names of the objects, each with a NUL at its end. An object whose key is the pattern
 * is the only one. Returns 0, -ENOENT (none), or why the bucket cannot be listed. */
int s3_list(const char *name, const struct remote_settings *settings,
	    credentials_fetch_fn *fetch_from, struct remote *remote, struct buf *ret,
	    struct err *err);
