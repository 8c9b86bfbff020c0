#include "remote/listing.h"
#include "base/name.h"
#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <time.h>

#define TRIES 4

int listing_add(const struct listing *listing, const char *path, struct buf *names)
{
	int r = buf_addf(names, "%.*s/%s", listing->root, listing->name, path);

	return r < 0 ? r : buf_add(names, "", 1);
}

int listing_take(struct listing *listing, const char *path)
{
	if (!listing->exact && strcmp(path, listing->pattern) == 0) {
		listing->exact = true;
		listing->found->len = 0;
	} else if (listing->exact || name_is_index(path) ||
		   fnmatch(listing->pattern, path, FNM_PATHNAME | FNM_PERIOD) != 0) {
		return 0;
	}
	return listing_add(listing, path, listing->found);
}

int listing_ask(const struct fetch *request, credentials_fetch_fn *fetch_from, unsigned *ret_status,
		struct buf *ret, struct err *err)
{
	int r = 0;

	for (int i = 0; i < TRIES; i++) {
		nanosleep(&(struct timespec){i / 2, i % 2 * 500000000L}, NULL);
		r = fetch_from(request, ret_status, ret, err);
		if (r != -EIO && r != -ETIMEDOUT &&
		    (r < 0 || (*ret_status != 429 && *ret_status < 500)))
			break;
	}
	return r;
}
