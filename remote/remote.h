/* What the readers of URLs of one mount, or of one command, share: the thread of transfers, its
 * connections, and the limit of requests to each server (http.h), which are there as long as any
 * reader is; the keys of S3 and of Google (s3_keys.h); and the memory for what is read ahead
 * (reader_remote.h).
 *
 * Threads: any number at once; remote_stop() is called alone. */
#pragma once

#include "base/err.h"
#include "remote/settings.h"
#include <pthread.h>
#include <stdatomic.h>

struct buf;
struct fetch_request;
struct http;
struct http_client;
struct reader_remote;
struct s3_keys;

#define REMOTE_ENDS 60 /* packs, 64 MiB: reader_remote.h */

struct remote {
	pthread_mutex_t lock;
	struct http *http; /* protected by lock; NULL: nobody needs it */
	unsigned readers;  /* protected by lock */

	/* Protected by lock: the readers that keep their ends, and how many have been opened. */
	struct reader_remote *ends[REMOTE_ENDS];
	unsigned opened;
	_Atomic uint64_t kept; /* bytes that all readers keep */
	/* Protected by lock: of s3://, and of gs://; NULL: nobody needs them. */
	struct s3_keys *keys[2];
	/* Asks for them; NULL: fetch(), except in tests. */
	int (*fetch)(const struct fetch_request *request, unsigned *ret_status,
		     struct buf *ret_body, struct err *err);
};

#define REMOTE_INIT                               \
	{                                         \
		.lock = PTHREAD_MUTEX_INITIALIZER \
	}

/* The client of the server of a URL, for a reader that begins; the first reader's settings count.
 * Returns 0, -ENOSYS or -ENOMEM. */
int remote_client_new(struct remote *remote, const struct remote_settings *settings,
		      const char *url, struct http_client **ret, struct err *err);
/* Cancels what is under way. NULL is fine. */
void remote_client_free(struct remote *remote, struct http_client *client);

/* Ends the threads, as before a fork, and cancels what is under way. The next read starts them
 * again. */
void remote_stop(struct remote *remote);
