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
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object_auth;
struct object_refresh;

struct object_answer {
	unsigned status;
	const char *headers; /* lines, for header_find() */
	/* Its beginning (BOUND_REFUSAL); a NUL ends it, and there may be others in it. */
	const char *body;
	size_t len;
};

struct object_auth_ops {
	/* Adds headers to a GET of this URL. Returns 0 or -errno. */
	int (*sign)(struct object_auth *auth, const struct url *url, header_add_fn *add,
		    void *context);
	/* The server of the URL answered 3xx, 400, 401, 403, 404 or 410. Returns 0: who asked adds
	 * to `moves`, and asks again at once, with what url and refresh are now (at most
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
	char *place;  /* url_place() of what never changes; NULL: of the URL */
	bool follows; /* redirects are followed; otherwise they are refusals */
	bool netrc;   /* user and password may come from ~/.netrc, for this server */
	struct object_refresh *refresh; /* of the credentials; NULL: they do not end */
	const char *elsewhere;		/* how another server is named; NULL: the URL names it */
};

/* --- renewal ----------------------------------------------------------------------------------
 *
 * Credentials are renewed in the background, in one short-lived thread at a time: that may take a
 * program.
 *
 * Threads: any number may look; object_refresh_rest() and object_refresh_release() are called
 * alone. */

enum object_auth_state {
	AUTH_READY,
	AUTH_AGES, /* good for some minutes: refresh() now, and sign meanwhile */
	AUTH_NONE, /* refresh() must succeed before a request is signed */
};

struct object_refresh_ops {
	enum object_auth_state (*state)(struct object_refresh *refresh);
	/* Renews the credentials; may ask other machines (remote/fetch.h). Returns 0, or -errno and
	 * why: the old ones are used until they end. */
	int (*refresh)(struct object_refresh *refresh, struct err *err);
};

/* The beginning of the credentials. */
struct object_refresh {
	const struct object_refresh_ops *ops;
	atomic_bool stops; /* refresh() ends soon: nobody waits for it */
	pthread_mutex_t lock;
	bool running;	/* protected by lock: there is a thread, to be joined */
	bool ended;	/* protected by lock: the thread is done */
	int error;	/* protected by lock: result of the last renewal */
	struct err err; /* protected by lock */
	uint64_t next;	/* protected by lock: no renewal before, ns */
	pthread_t thread;
};

void object_refresh_init(struct object_refresh *refresh, const struct object_refresh_ops *ops);
/* Ends the thread, if there is one. */
void object_refresh_rest(struct object_refresh *refresh);
void object_refresh_release(struct object_refresh *refresh);

/* Whether a request may be signed. Returns 0 (now), -EAGAIN (soon), or why there are no
 * credentials. */
int object_refresh_look(struct object_refresh *refresh, struct err *err);
