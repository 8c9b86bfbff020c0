/* One object on a server, read in ranges. All ranges are of the same object, or reading fails.
 *
 * The first range that arrives says which object it is (size and ETag). All later ones are asked
 * for with If-Match, and checked. Once the object has been replaced, all reads fail with -ESTALE.
 * What fails is asked for again (retry.h) for as long as the settings say, longer by the time that
 * the bytes that came take at HTTP_PACE; before a range has arrived, for OBJECT_OPENING at most.
 *
 * Threads: any may call object_get() and object_stats(). object_rest() and object_free() are called
 * alone. */
#pragma once

#include "base/err.h"
#include "base/reader.h"
#include "remote/object_auth.h"
#include "remote/remote.h"
#include "remote/settings.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#define OBJECT_OPENING 30 /* seconds */

struct object;

/* Called once, in the thread of transfers or the caller's. `result`: bytes read, or -errno. */
typedef void object_done_fn(void *arg, int64_t result);

struct object_range {
	uint64_t first, len;	  /* cut where the object ends */
	bool suffix;		  /* the last `len` bytes of the object, or all of it, instead */
	const atomic_bool *ahead; /* nobody waits for it yet; NULL: somebody does */
};

/* `shown` names the object in notices. Takes over `auth`, even on failure. Settings and `remote`
 * must outlive the object. Sends nothing yet. Returns 0, -ENOSYS or -ENOMEM. */
int object_new(const char *shown, struct object_auth *auth, const struct remote_settings *settings,
	       struct remote *remote, struct object **ret, struct err *err);
/* NULL is fine. */
void object_free(struct object *object);

/* Reads a range into iov, which may have gaps (base/reader.h); its struct and memory stay until
 * `done`. */
void object_get(struct object *object, const struct iovec *iov, int count,
		const struct object_range *range, object_done_fn *done, void *arg);

/* Bytes; known once a range has arrived. */
uint64_t object_size(const struct object *object);
bool object_is_stale(const struct object *object);
/* Known as the size is. Another object at the same URL has another number, in any process; 0: the
 * server gives neither a strong ETag nor Last-Modified. */
void object_identity(const struct object *object, struct reader_identity *ret);

/* The last reason why a range could not be read. */
void object_why(struct object *object, struct err *ret);

/* Until object_go_on(), nothing is asked for again, and what is ahead ends with -ECANCELED. */
void object_cancel(struct object *object);
void object_go_on(struct object *object);

/* What is under way ends with -ECANCELED, before it returns. */
void object_rest(struct object *object);

void object_stats(struct object *object, struct reader_stats *ret);
