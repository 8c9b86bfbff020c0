/* The keys that sign requests for S3, or for Google's buckets. All packs of a mount, or of a
 * command, share them: they are found and renewed in the background, by one short-lived thread at a
 * time, as a program or another machine may be asked.
 *
 * Threads: any number at once; s3_keys_rest() is called alone. */
#pragma once

#include "remote/credentials.h"
#include "remote/object_auth.h"
#include "remote/remote.h"
#include "remote/s3_refusal.h"

enum s3_keys_state { KEYS_UNKNOWN, KEYS_NONE, KEYS_GOOD, KEYS_ENDED };

struct s3_keys {
	struct remote *remote;
	unsigned users; /* protected by the lock of remote */
	struct credentials_ask ask;
	char *region; /* of `ask` */
	pthread_t thread;
	atomic_bool stops; /* it ends soon: nobody waits for it */

	pthread_mutex_t lock; /* protects what follows */
	enum s3_keys_state state;
	struct credentials found;
	int64_t since,
		renew; /* when they replaced others (0: they did not), and when to renew them */
	struct err nowhere; /* KEYS_NONE: why requests are not signed */
	bool running;	    /* there is a thread, to be joined, */
	bool renewed;	    /* which is done */
	int error;	    /* of the last renewal, */
	struct err why;	    /* and its reason */
	uint64_t next;	    /* no renewal before, ns */
};

/* For a pack that begins. Asks nobody yet. `ask` of the first one counts; all but its region must
 * outlive the keys. Returns 0 or -ENOMEM. */
int s3_keys_join(struct remote *remote, const struct credentials_ask *ask, struct s3_keys **ret);
/* The last one frees them. */
void s3_keys_leave(struct s3_keys *keys);

/* Whether a request may be signed, or sent without, as they are now. Returns 0, -EAGAIN (soon), or
 * why there are no keys. */
int s3_keys_look(struct s3_keys *keys, struct err *err);
/* Ends the renewal that is under way. */
void s3_keys_rest(struct s3_keys *keys);

/* What the two do: whether keys are to be renewed, first if none can be used; and that, in this
 * thread. Returns 0, or -errno and why: the old ones are used until they end. */
enum s3_keys_need { KEYS_READY, KEYS_AGE, KEYS_NEEDED };
enum s3_keys_need s3_keys_need(struct s3_keys *keys);
int s3_keys_renew(struct s3_keys *keys, struct err *err);

/* A request was refused, but not because it is of another region. Returns 0: it may be asked again,
 * once the keys are renewed; or why it may not. */
int s3_keys_refused(struct s3_keys *keys, const struct s3_refusal *refusal, struct err *err);
