/* Renews credentials in the background: one short-lived thread at a time, and few for all packs of
 * a mount. Their keys end at the same time, and each may take a program. */
#ifndef REMOTE_OBJECT_REFRESH_H
#define REMOTE_OBJECT_REFRESH_H

#include "remote/object_auth.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define OBJECT_RENEWALS 8 /* at once, of all packs */

struct object_refresh {
	struct object_auth *auth;
	atomic_uint *renewals; /* of all packs, that are under way */
	pthread_mutex_t lock;
	bool running;	/* protected by lock: there is a thread, to be joined */
	bool ended;	/* protected by lock: the thread is done */
	int error;	/* protected by lock: result of the last renewal */
	struct err err; /* protected by lock */
	uint64_t next;	/* protected by lock: no renewal before, ns */
	pthread_t thread;
};

void object_refresh_init(struct object_refresh *refresh, struct object_auth *auth,
			 atomic_uint *renewals);
/* Waits for the thread, if there is one. */
void object_refresh_rest(struct object_refresh *refresh);
void object_refresh_release(struct object_refresh *refresh);

/* Whether a request may be signed. Returns 0 (now), -EAGAIN (soon), or why there are no
 * credentials. */
int object_refresh_look(struct object_refresh *refresh, struct err *err);

#endif
