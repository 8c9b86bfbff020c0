/* Has credentials renewed beside all else: one short-lived thread at a time. */
#ifndef REMOTE_OBJECT_REFRESH_H
#define REMOTE_OBJECT_REFRESH_H

#include "remote/object_auth.h"
#include <pthread.h>
#include <stdint.h>

struct object_refresh {
	struct object_auth *auth;
	pthread_mutex_t lock;
	bool running;	/* protected by lock: a thread is to be joined */
	bool ended;	/* protected by lock: it has done its work */
	int error;	/* protected by lock: of the last time */
	struct err err; /* protected by lock */
	uint64_t next;	/* protected by lock: not before, ns */
	pthread_t thread;
};

void object_refresh_init(struct object_refresh *refresh, struct object_auth *auth);
/* Waits for the thread, if there is one. */
void object_refresh_rest(struct object_refresh *refresh);
void object_refresh_release(struct object_refresh *refresh);

/* Whether a request may be signed now: 0; -EAGAIN: soon; or why credentials could not be had. */
int object_refresh_look(struct object_refresh *refresh, struct err *err);

#endif
