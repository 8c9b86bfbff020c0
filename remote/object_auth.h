/* Where an object lies, and what proves that we may read it: what is asked before each request for
 * it, and after each that was refused.
 *
 * One is made for each object, by what knows its kind of URL: remote/bearer.h for http and https,
 * remote/s3.h for s3. The object owns it.
 *
 * Threads: refresh() runs in a thread of its own, one at a time, beside the others. Those are
 * called by one thread at a time, and must not wait.
 *
 * Headers are for the server of the URL alone: after a redirect to another host sign() is not
 * called. No secret gets into an err, or into a URL that user:password@ or a query would show. */
#ifndef REMOTE_OBJECT_AUTH_H
#define REMOTE_OBJECT_AUTH_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct object_auth;

enum object_auth_state {
	AUTH_READY,
	AUTH_AGES, /* good for some minutes: refresh() now, sign() meanwhile */
	AUTH_NONE, /* sign() only after refresh() */
};

/* A request that is about to be sent. */
struct object_request {
	const char *host;  /* as in the header Host: with the port, unless it is the scheme's */
	const char *path;  /* percent-encoded, as it is sent */
	const char *query; /* the same, without '?'; "": none */
};

/* Adds the header line "Name: value". Returns 0 or -ENOMEM. */
typedef int object_header_fn(void *context, const char *line);

#define OBJECT_BODY 4096 /* bytes kept of the body of an answer that is no success */

struct object_answer {
	unsigned status;
	const char *headers; /* lines, for header_find() */
	const char *body;    /* its beginning; ends with a NUL, may contain others */
	size_t len;
};

struct object_auth_ops {
	/* NULL: always AUTH_READY. */
	enum object_auth_state (*state)(struct object_auth *auth);
	/* Has sign() work for longer; may ask other machines (remote/fetch.h). Returns 0, or -errno
	 * and why: what is still good is used until it ends. NULL where state is. */
	int (*refresh)(struct object_auth *auth, struct err *err);
	/* Adds the headers of a request. Returns 0 or -errno. */
	int (*sign)(struct object_auth *auth, const struct object_request *request,
		    object_header_fn *add, void *context);
	/* The server of the URL answered 3xx, 400, 401, 403, 404 or 410. Returns 0: to be asked
	 * again at once, as url and state() say now (at most OBJECT_REFUSALS times in a row); or
	 * -errno: why not, and the way out. */
	int (*refused)(struct object_auth *auth, const struct object_answer *answer,
		       struct err *err);
	void (*free)(struct object_auth *auth);
};

#define OBJECT_REFUSALS 3

/* The beginning of each kind. */
struct object_auth {
	const struct object_auth_ops *ops;
	char *url;    /* of the object, encoded, http or https; refused() may change it */
	bool follows; /* redirects lead to the object: they are followed, and not refusals */
	bool netrc;   /* user and password may come from ~/.netrc */
};

#endif
