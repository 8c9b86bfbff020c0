/* The objects below a folder on a server as members (base/members.h):
 *
 *	s3://BUCKET/train/	gs://BUCKET/	hf://datasets/OWNER/NAME@REVISION/data/
 *
 * All names are found, with what is no path of a file; "" is one with a NUL. A server that is odd
 * may have one found twice.
 *
 * Each read is of the object that was listed, by its ETag, or otherwise by time and size, and what
 * fails is asked for again, as of a pack (object.h); the notice says which object failed,
 * but for those that were replaced or are gone. */
#pragma once

#include "base/err.h"
#include "base/members.h"
#include "remote/remote.h"

/* Whether the name is that of a folder on a server: a URL that ends with a '/'. */
bool name_is_prefix(const char *name);

/* Asks no other machine yet. Settings and `remote` must outlive the members. Returns 0, -EINVAL
 * (servers of http and https have no listings), -ENOSYS, -ENOMEM, or as s3_auth_new() and
 * bearer_new(). */
int prefix_open(const char *name, const struct remote_settings *settings, struct remote *remote,
		struct members **ret, struct err *err);
