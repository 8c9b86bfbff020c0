/* Sends HTTP requests for ranges of bytes, many at a time, from one thread; bodies go straight into
 * memory of the caller's.
 *
 * A transfer is one range, asked for until its owner has what it wanted. The owner says what to
 * send (prepare), whether the body of the answer is what it wants (accept), and, when the answer
 * has ended, whether to ask again and when (finished):
 *
 *	submit -> prepare -> accept -> finished -+-> done
 *	             ^                           |
 *	             +------- after a pause -----+
 *
 * Transfers that somebody waits for are begun before those that are ahead of need. As many are
 * under way as the server bears: half as many each time that it says it is overloaded, one more
 * for each round of answers (additive increase, multiplicative decrease).
 *
 * Threads: http_submit() from any; the three functions of the owner are called in the thread of
 * transfers, and must not wait. The thread begins with the first transfer and ends at http_rest().
 */
#ifndef REMOTE_HTTP_H
#define REMOTE_HTTP_H

#include "base/err.h"
#include "base/reader_stats.h"
#include "remote/object_auth.h"
#include "remote/settings.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#define HTTP_MOST 384 /* transfers under way */

struct http;
struct http_transfer;

/* How an attempt ended. */
enum http_end {
	HTTP_ANSWERED, /* with any status */
	HTTP_NO_NAME,  /* the host's address cannot be found */
	HTTP_NO_CONNECTION,
	HTTP_NO_TLS,
	HTTP_UNTRUSTED, /* the certificate is not good */
	HTTP_STALLED,
	HTTP_BROKEN,	 /* the connection, before the answer was complete */
	HTTP_CUT,	 /* the body is shorter than it was to be */
	HTTP_TOO_LONG,	 /* the body is longer than the memory for it */
	HTTP_IMPOSSIBLE, /* it could not be sent: the URL is no URL */
	HTTP_NO_MEMORY,
	HTTP_CANCELLED, /* by http_cancel() or http_rest() */
	HTTP_ENDS,
};

/* What to send, by prepare(). */
struct http_message {
	const char *url;
	const char *range; /* "0-65535", "-1024" */
	bool netrc;	   /* user and password from ~/.netrc */
	object_header_fn *add;
	void *context; /* of add() */
};

struct http_outcome {
	enum http_end end;
	struct object_answer answer; /* where there was one; status is 0 where there was none */
	const char *redirect;	     /* the URL that a 3xx leads to, whole; NULL: none */
	const char *reason;	     /* libcurl's words; "": none */
	uint64_t first_byte_us;	     /* until the answer began */
	uint64_t retry_after;	     /* seconds, as the server asks; 0: it does not */
};

struct http_verdict {
	bool again, overloaded;
	uint64_t pause_ns;
};

struct http_transfer_ops {
	/* Fills *ret and adds headers. 0, -EAGAIN (it cannot be sent yet; to be asked again soon)
	 * or -errno: then it is finished, HTTP_IMPOSSIBLE. */
	int (*prepare)(struct http_transfer *transfer, struct http_message *ret);
	/* Of answers with a body, when that begins. Returns whether it goes into iov, at `got`. */
	bool (*accept)(struct http_transfer *transfer, unsigned status, const char *headers);
	/* Unless asked for again, the transfer is the owner's now, and may be freed here. */
	struct http_verdict (*finished)(struct http_transfer *transfer,
					const struct http_outcome *outcome);
};

struct http_transfer {
	const struct http_transfer_ops *ops;
	const struct iovec *iov; /* not changed */
	int count;
	const atomic_bool *ahead; /* looked at until it is begun; NULL: somebody waits for it */
	uint64_t got; /* bytes in iov, also of an attempt that failed; the owner may set it back */

	struct http_transfer *next; /* http.c's */
	uint64_t due;		    /* http.c's: when to ask again, ns */
};

/* Returns 0, -ENOSYS (no libcurl) or -ENOMEM. */
int http_new(const struct remote_settings *settings, struct http **ret, struct err *err);
/* Ends as http_rest() does. NULL is fine. */
void http_free(struct http *http);

/* All transfers finish: at once with HTTP_CANCELLED where no thread can be made. */
void http_submit(struct http *http, struct http_transfer *transfer);

/* Finishes what is not yet finished with HTTP_CANCELLED, closes all connections and ends the
 * thread. */
void http_rest(struct http *http);

/* Finishes what is ahead, or in a pause, with HTTP_CANCELLED. Does not wait. The owner asks for
 * nothing again from then on. */
void http_cancel(struct http *http);

/* What waits for its pause to end is asked for now: in the thread of transfers. */
void http_hurry(struct http *http);

/* All of *ret but the times. */
void http_stats(struct http *http, struct reader_stats *ret);

#endif
