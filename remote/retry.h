/* What the outcome of a request means: take it, ask again after a pause, ask elsewhere, or fail.
 *
 * foldfs-remote(7) has the same table. Pure. */
#ifndef REMOTE_RETRY_H
#define REMOTE_RETRY_H

#include "base/err.h"
#include "remote/header.h"
#include "remote/http.h"

enum retry_action {
	RETRY_TAKE,	 /* a range */
	RETRY_AGAIN,	 /* for as long as the user has patience */
	RETRY_BRIEFLY,	 /* RETRY_BRIEF times: it may be a fault of a proxy */
	RETRY_ELSEWHERE, /* a redirect */
	RETRY_REFUSED,	 /* unless other credentials, or the URL that redirected here, do better */
	RETRY_NEVER,
};

#define RETRY_BRIEF 3

struct retry_rule {
	enum retry_action action;
	bool overloaded; /* the server: ask less */
	int error;	 /* -errno, once it has failed */
	const char *why;
};

const struct retry_rule *retry_rule_of_status(unsigned status);
/* Not of HTTP_ANSWERED. */
const struct retry_rule *retry_rule_of_end(enum http_end end);

/* How long to wait before the next of `tries` (1: the first repetition), ns: at random between
 * nothing and a bound that doubles (full jitter), so that those who failed together do not come
 * back together. At least `least` seconds, which the server asked for. */
uint64_t retry_pause(unsigned tries, bool overloaded, uint64_t least, uint64_t random);

/* What an answer of 206 must be. */
struct retry_range {
	uint64_t first, len; /* asked for; fewer at the end of the object */
	bool suffix;	     /* its last `len` bytes instead */
	uint64_t total;	     /* bytes of the object; UINT64_MAX: not known yet */
	const char *etag;    /* of the object; "": not known, or none */
	const char *modified;
};

/* Returns 0, -ESTALE (it is another object now) or -EPROTO (err: it is not what was asked for). */
int retry_check_range(const char *headers, const struct retry_range *asked,
		      struct content_range *ret, struct err *err);

/* Whether an ETag tells objects apart byte by byte: not empty, nor weak. */
bool retry_etag_is_strong(const char *etag);

#endif
