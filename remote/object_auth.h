/* Where objects are, and the credentials to read them: of one object, or of all in a bucket or a
 * repository. Asked before each request, and after each refusal.
 *
 * remote/bearer.h makes it for http and https, remote/s3.h for s3.
 *
 * Threads: its functions are called by one thread at a time, and must not wait.
 *
 * Headers and ~/.netrc are for the server of the URL alone: after a redirect to another, neither is
 * used. An err must not contain a secret. */
#pragma once

#include "base/err.h"
#include "remote/header.h"
#include "remote/url.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object_auth;

struct object_answer {
	unsigned status;
	const char *headers; /* lines, for header_find() */
	/* Its beginning (BOUND_REFUSAL); a NUL ends it, and there may be others in it. */
	const char *body;
};

struct object_auth_ops {
	/* Adds headers to a GET of this URL. Returns 0; -EAGAIN: not yet, as credentials are being
	 * renewed; or -errno: err may say why there are none. */
	int (*sign)(struct object_auth *auth, const struct url *url, struct buf *headers,
		    struct err *err);
	/* The server of the URL answered 3xx, 400, 401, 403, 404 or 410. Returns 0: who asked adds
	 * to `moves`, and asks again at once, with what URL and credentials are now (at most
	 * BOUND_REFUSALS times in a row). Or -errno: the reason and the way out are in err, unless
	 * retry.h has said all. */
	int (*refused)(struct object_auth *auth, const struct object_answer *answer,
		       struct err *err);
	void (*free)(struct object_auth *auth);
};

/* The beginning of each kind. */
struct object_auth {
	const struct object_auth_ops *ops;
	char *url; /* that those of its objects begin with, encoded; refused() may change it */
	/* Refusals that were not the last word: what was sent before one is asked for again. */
	unsigned moves;
	char *place;	       /* url_place() of what never changes */
	bool follows;	       /* redirects are followed; otherwise they are refusals */
	bool netrc;	       /* user and password may come from ~/.netrc, for this server */
	const char *elsewhere; /* how another server is named; NULL: the URL names it */
};
