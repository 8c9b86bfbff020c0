/* The keys that sign requests for S3, or for Google's buckets. All packs of a mount, or of a
 * command, share them: each time they are found or renewed, a program or another machine may be
 * asked.
 *
 * Threads: any number at once. */
#pragma once

#include "remote/credentials.h"
#include "remote/object_auth.h"
#include "remote/remote.h"
#include "remote/s3_refusal.h"

enum s3_keys_state { KEYS_UNKNOWN, KEYS_NONE, KEYS_GOOD, KEYS_ENDED };

struct s3_keys {
	struct object_refresh refresh; /* first */
	struct remote *remote;
	unsigned users; /* protected by the lock of remote */
	struct credentials_ask ask;
	char *region; /* of `ask` */

	pthread_mutex_t lock; /* protects what follows */
	enum s3_keys_state state;
	struct credentials found;
	int64_t since,
		renew; /* when they replaced others (0: they did not), and when to renew them */
	struct err nowhere; /* KEYS_NONE: why requests are not signed */
};

/* For a pack that begins. Asks nobody yet. `ask` of the first one counts; all but its region must
 * outlive the keys. Returns 0 or -ENOMEM. */
int s3_keys_join(struct remote *remote, const struct credentials_ask *ask, struct s3_keys **ret);
/* The last one frees them. */
void s3_keys_leave(struct s3_keys *keys);

/* A request was refused, but not because it is of another region. Returns 0: it may be asked again,
 * once the keys are renewed; or why it may not. */
int s3_keys_refused(struct s3_keys *keys, const struct s3_refusal *refusal, struct err *err);
