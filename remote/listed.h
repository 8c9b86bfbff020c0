/* All files below a folder of a server, as its listing has them.
 *
 *	a bucket	ListObjectsV2. If `split`, by ranges of keys, many side by side, and some
 *			may be found twice; otherwise page by page
 *	the Hub		page by page: it limits requests
 *
 * Threads: one, which calls `found`. */
#pragma once

#include "base/err.h"
#include "remote/hub.h"
#include "remote/object_auth.h"
#include "remote/remote.h"

struct listed {
	const char *path; /* from the root of the bucket or the repository; "" if no path has it,
			     as it has a NUL */
	uint64_t size;
	int64_t modified; /* ns since 1970; 0: not said */
	const char *tag;  /* the ETag, with its quotes; "": not said. Of the Hub: X-Linked-ETag, or
			     the ETag of a file that has none */
};

/* Returns 0 or -errno, which ends the listing. */
typedef int listed_fn(void *context, const struct listed *listed, struct err *err);

struct listed_ask {
	const char *name; /* in notices */
	const struct remote_settings *settings;
	struct remote *remote;
	unsigned pages; /* at most */
	bool split;
	listed_fn *found;
	void *context;
	uint64_t requests; /* set: that were sent */
};

/* Of a bucket, by `auth` for its key PAGE_ANY_KEY (remote/page.h). Returns 0, -E2BIG (over so many
 * pages), -EPROTO (that is no listing), what `found` returned, or why it cannot be listed. */
int listed_bucket(struct listed_ask *ask, struct object_auth *auth, const char *prefix,
		  struct err *err);
/* What asks the server of a repository: for the URL of its file PAGE_ANY_KEY. Returns 0, -EINVAL or
 * as bearer_new(). */
int listed_hub_auth(const struct hub_name *name, const struct remote_settings *settings,
		    struct object_auth **ret, struct err *err);
/* Of a repository, by `auth` for its server: the files below the folder, which ends with a '/', or
 * is "". Returns as listed_bucket(), and -ENOENT. */
int listed_hub(struct listed_ask *ask, struct object_auth *auth, const struct hub_name *name,
	       const char *folder, struct err *err);
