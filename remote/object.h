/* One object on a server, of which ranges are read: the same one all the time, or an error.
 *
 * The first range that arrives says which object it is (size and ETag). All later ones are asked
 * for with If-Match, and checked: an object that was replaced is -ESTALE, from then on. What fails
 * is asked for again, see retry.h, for as long as the settings say; while nothing has arrived yet,
 * not for longer than OBJECT_OPENING.
 *
 * Threads: object_get() and object_stats() from any. object_rest() and object_free() alone. */
#ifndef REMOTE_OBJECT_H
#define REMOTE_OBJECT_H

#include "base/err.h"
#include "base/reader_stats.h"
#include "remote/object_auth.h"
#include "remote/settings.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#define OBJECT_OPENING 30 /* seconds */

struct object;

/* Called once, in the thread of transfers or in the caller's: the bytes read, or -errno. */
typedef void object_done_fn(void *arg, int64_t result);

struct object_range {
	uint64_t first, len;	  /* within the object, unless that ends before */
	bool suffix;		  /* its last `len` bytes; fewer where it is shorter */
	const atomic_bool *ahead; /* nobody waits for it yet; NULL: somebody does */
};

/* `shown` names it in notices. The auth is the object's now, also where this fails. Settings must
 * outlive it. Asks nothing. Returns 0, -ENOSYS or -ENOMEM. */
int object_new(const char *shown, struct object_auth *auth, const struct remote_settings *settings,
	       struct object **ret, struct err *err);
/* NULL is fine. */
void object_free(struct object *object);

/* Reads a range into iov, whose struct and memory stay until `done`. */
void object_get(struct object *object, const struct iovec *iov, int count,
		const struct object_range *range, object_done_fn *done, void *arg);

/* Bytes; only after a range has arrived. */
uint64_t object_size(const struct object *object);
bool object_is_stale(const struct object *object);

/* Why a range could not be read: the last reason. */
void object_why(struct object *object, struct err *ret);

/* From now on nothing is asked for again, and what is ahead ends with -ECANCELED; until
 * object_go_on(). */
void object_cancel(struct object *object);
void object_go_on(struct object *object);

/* Ends all threads. What is under way ends with -ECANCELED. */
void object_rest(struct object *object);

void object_stats(struct object *object, struct reader_stats *ret);

#endif
