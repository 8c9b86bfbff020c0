/* All files below a folder of a server, as its listing has them.
 *
 *	a bucket	ListObjectsV2. If `split`, by ranges of keys, many side by side, and some
 *			may be found twice; otherwise page by page
 *	the Hub		page by page: it limits requests
 *
 * Threads: one, which calls `found`. */
#pragma once

#include "base/err.h"
#include "remote/credentials.h"
#include "remote/hub.h"
#include "remote/object_auth.h"
#include "remote/remote.h"

/* Where files are listed: a bucket, or a dataset of the Hub. */
struct listed_place {
	struct object_auth *auth; /* of all that is there: its URL is what theirs begin with */
	const char *name;	  /* it was opened by, also for notices */
	const struct remote_settings *settings;
	struct remote *remote;
	int root;	  /* bytes of the name, without the '/' behind it */
	const char *path; /* what the name has below that; "": nothing */
	bool of_hub;
	struct hub_name hub; /* the name, if it is of the Hub */
};

/* By the name of something there: s3://, gs:// or hf://, which must outlive the place, as settings
 * and `remote`. Asks no other machine yet. Returns 0, -EINVAL, or as s3_auth_new() and
 * bearer_new().
 */
int listed_open(const char *name, const struct remote_settings *settings, struct remote *remote,
		struct listed_place *ret, struct err *err);

struct listed {
	const char *path; /* from the root of the place; "" if no path has it, as it has a NUL */
	uint64_t size;
	int64_t modified; /* ns since 1970; 0: not said */
	const char *tag;  /* the ETag, with its quotes; "": not said. Of the Hub: X-Linked-ETag, or
			     the ETag of a file that has none */
};

/* Returns 0 or -errno, which ends the listing. */
typedef int listed_fn(void *context, const struct listed *listed, struct err *err);

struct listed_ask {
	unsigned pages; /* at most */
	bool split;
	listed_fn *found;
	void *context;
	uint64_t requests; /* set: that were sent */
};

/* Of a bucket, the files whose paths begin so; of the Hub, those below a folder, which ends with a
 * '/', or is "". Returns 0, -E2BIG (over so many pages), -EPROTO (that is no listing), -ENOENT (the
 * Hub has no such folder), what `found` returned, or why it cannot be listed. */
int listed_all(const struct listed_place *place, const char *folder, struct listed_ask *ask,
	       struct err *err);
