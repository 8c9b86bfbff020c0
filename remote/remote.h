/* What the readers of URLs of one mount, or of one command, share: the thread of transfers, its
 * connections, and the limit of requests to each server (http.h). It is there as long as any reader
 * is.
 *
 * Threads: any number at once; remote_stop() is called alone. */
#ifndef REMOTE_REMOTE_H
#define REMOTE_REMOTE_H

#include "base/err.h"
#include "remote/settings.h"
#include <pthread.h>

struct http;

struct remote {
	pthread_mutex_t lock;
	struct http *http; /* protected by lock; NULL: nobody needs it */
	unsigned readers;  /* protected by lock */
};

#define REMOTE_INIT                               \
	{                                         \
		.lock = PTHREAD_MUTEX_INITIALIZER \
	}

/* For a reader that begins; the first one's settings count. Returns 0, -ENOSYS or -ENOMEM. */
int remote_join(struct remote *remote, const struct remote_settings *settings, struct http **ret,
		struct err *err);
void remote_leave(struct remote *remote);

/* Ends the thread, as before a fork, and cancels what is under way. The next read starts it again.
 */
void remote_stop(struct remote *remote);

#endif
