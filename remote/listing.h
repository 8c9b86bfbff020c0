/* What the listings of the Hub and of buckets have in common. */
#pragma once

#include "remote/credentials.h"

#define LISTING_WILD  "*?["
#define LISTING_PAGES 1000	/* at most, of 1000 files each */
#define LISTING_BYTES (4 << 20) /* of a page, at most */

/* Whether a path or key matches. '*' leaves out '/'. */
bool listing_matches(const char *pattern, const char *path);

/* Asks for a page. What may pass is tried again. Returns as fetch(). */
int listing_ask(const struct fetch *request, credentials_fetch_fn *fetch_from, unsigned *ret_status,
		struct buf *ret, struct err *err);
