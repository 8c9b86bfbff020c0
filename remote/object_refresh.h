/* Renews credentials in the background, in one short-lived thread at a time. A renewal may take a
 * program.
 *
 * Threads: any number may look; object_refresh_rest() and object_refresh_release() are called
 * alone. */
#pragma once

#include "base/err.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct object_refresh;

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
