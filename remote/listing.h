/* What the listings of the Hub and of buckets have in common. */
#pragma once

#include "remote/credentials.h"
#include "remote/object_auth.h"

#define LISTING_WILD "*?["

struct listing {
	const char *name;      /* that was asked for: s3://bucket/train/shard-*.tar */
	int root;	       /* bytes of it: what all files are in, without the slash */
	const char *pattern;   /* of what is below; '*' leaves out '/' */
	struct buf *found;     /* names, NUL-ended */
	bool exact;	       /* a file has the pattern as its path, and is meant alone */
	unsigned taken, pages; /* names, and pages that were asked for */
	struct object_auth *auth;
	const struct remote_settings *settings;
	credentials_fetch_fn *fetch; /* fetch(), except in tests */
};

/* Adds the name of a file if it matches. Returns 0, -ENOMEM, or -E2BIG (remote/bounds.h). */
int listing_take(struct listing *listing, const char *path, struct err *err);
/* Adds it to other names in any case. */
int listing_add(struct listing *listing, const char *path, struct buf *names, struct err *err);

struct listing_page {
	unsigned status;
	bool authorized; /* `auth` added headers */
	struct buf headers, body;
};

/* Asks for a page, which is empty. What may pass is tried again. Returns as fetch(), or -E2BIG (it
 * goes on for too long). */
int listing_ask(struct listing *listing, const char *url, struct listing_page *ret,
		struct err *err);
void listing_page_release(struct listing_page *page);
