/* What to do after a request: take the answer, ask again after a pause, ask elsewhere, or fail.
 *
 * foldfs-remote(7) has the same table. Pure, but for retry_verdict(), which looks at the clock. */
#pragma once

#include "base/err.h"
#include "remote/header.h"
#include "remote/http.h"

enum retry_action {
	RETRY_TAKE,	 /* the answer is a range */
	RETRY_AGAIN,	 /* for as long as the user has patience */
	RETRY_BRIEFLY,	 /* RETRY_BRIEF times: it may be a fault of a proxy */
	RETRY_ELSEWHERE, /* a redirect */
	RETRY_REFUSED,	 /* other credentials, or the URL that redirected here, may help */
	RETRY_NEVER,
};

#define RETRY_BRIEF 3

struct retry_rule {
	enum retry_action action;
	bool overloaded; /* the server is overloaded: ask less */
	int error;	 /* -errno, if the read fails for it */
	const char *why;
};

const struct retry_rule *retry_rule_of_status(unsigned status);
/* `end` must not be HTTP_ANSWERED. */
const struct retry_rule *retry_rule_of_end(enum http_end end);

/* Says in *ret why there is no answer to take: the rule's words, and the server's. `elsewhere`: how
 * another server is named, for one that has no address; NULL: it is not said. */
void retry_explain(const struct retry_rule *rule, const struct http_outcome *outcome,
		   const char *elsewhere, struct err *ret);

/* How long to wait before the next try, ns; `tries` is 1 before the first repetition. The pause is
 * random, between 0 and a bound that doubles (full jitter), so that requests that failed together
 * do not come back together. `least`: seconds that the server asked for, which come on top. */
uint64_t retry_pause(unsigned tries, bool overloaded, uint64_t least, uint64_t random);
/* To ask again after such a pause; `left`: seconds of patience, which the server does not exceed.
 */
struct http_verdict retry_verdict(const struct retry_rule *rule, const struct http_outcome *outcome,
				  unsigned tries, uint64_t left);

/* What a range must be. */
struct retry_range {
	uint64_t first, len; /* what was asked for; the object may end earlier */
	bool suffix;	     /* the last `len` bytes instead */
	uint64_t total;	     /* bytes of the object; UINT64_MAX: not yet known */
	const char *etag;    /* of the object; "": not known, or none */
	const char *modified;
	bool tagged; /* the answer must have what is known of these */
};

/* Whether an answer is a range: 206, or 200 with a Content-Range, as gofakes3 has it. */
bool retry_is_range(unsigned status, const char *headers);

/* Returns 0, -ESTALE (it is another object now) or -EPROTO (it is not what was asked for: err says
 * why). */
int retry_check_range(const char *headers, const struct retry_range *asked,
		      struct content_range *ret, struct err *err);

/* Whether equal ETags mean equal bytes: the ETag is neither empty nor weak. */
bool retry_etag_is_strong(const char *etag);
