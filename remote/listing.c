#include "remote/listing.h"
#include <errno.h>
#include <fnmatch.h>
#include <time.h>

#define TRIES 4

bool listing_matches(const char *pattern, const char *path)
{
	return fnmatch(pattern, path, FNM_PATHNAME | FNM_PERIOD) == 0;
}

static void pause_before(int attempt)
{
	struct timespec pause = {.tv_sec = attempt / 2, .tv_nsec = attempt % 2 * 500000000L};

	nanosleep(&pause, NULL);
}

int listing_ask(const struct fetch *request, credentials_fetch_fn *fetch_from, unsigned *ret_status,
		struct buf *ret, struct err *err)
{
	int r = 0;

	for (int i = 0; i < TRIES; i++) {
		pause_before(i);
		r = fetch_from(request, ret_status, ret, err);
		if (r != -EIO && r != -ETIMEDOUT &&
		    (r < 0 || (*ret_status != 429 && *ret_status < 500)))
			break;
	}
	return r;
}
