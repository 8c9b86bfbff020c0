/* Sends HTTP requests for ranges of bytes, many at a time, from one thread. Bodies go straight into
 * the caller's memory.
 *
 * A transfer is one range. It is asked for until its owner has what it wants. The owner says what
 * to send (prepare), whether the body of the answer is wanted (accept), and, once the answer has
 * ended, whether and when to ask again (finished):
 *
 *	submit -> prepare -> accept -> finished -+-> done
 *	             ^                           |
 *	             +------- after a pause -----+
 *
 * Transfers that somebody waits for begin before those that are ahead of need. Each object that is
 * read is a client. All clients share the thread, the connections, and the limit of each server
 * (http_host.h): a thousand packs ask for no more at once than one does.
 *
 * Threads: any may call http_submit(). The three functions of the owner are called in the thread of
 * transfers, and must not wait. That thread begins with the first transfer and ends with
 * http_rest(). */
#pragma once

#include "base/err.h"
#include "base/reader_stats.h"
#include "remote/object_auth.h"
#include "remote/settings.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#define HTTP_MOST	  384  /* transfers under way to one server: foldfs-remote(7) says so */
#define HTTP_MOST_IN_ALL  512  /* to all servers; fewer where few files may be open */
#define HTTP_WANTED_SHARE 8    /* this part of both, an eighth, is for what somebody waits for */
#define HTTP_PACE	  4096 /* bytes/s: an answer that is slower for 10 seconds has stalled */

struct http;
struct http_client;
struct http_host;
struct http_transfer;

/* How an attempt ended. */
enum http_end {
	HTTP_ANSWERED, /* with any status */
	HTTP_NO_NAME,  /* the address of the host is not found */
	HTTP_NO_CONNECTION,
	HTTP_NO_PROXY,	/* the proxy wants other credentials */
	HTTP_FORBIDDEN, /* the proxy does not allow this server */
	HTTP_NO_TUNNEL, /* the proxy connects nobody with a server */
	HTTP_NO_TLS,
	HTTP_OLD_TLS,
	HTTP_CLEAR,	/* the server does not encrypt */
	HTTP_UNTRUSTED, /* nobody who is trusted has signed the certificate */
	HTTP_SELF_SIGNED,
	HTTP_OTHER_NAME, /* the certificate is for other hosts */
	HTTP_EXPIRED,
	HTTP_NOT_YET_VALID,
	HTTP_NO_CA_FILE, /* the file of certificates cannot be read */
	HTTP_STALLED,
	HTTP_BROKEN,	 /* the connection broke before the answer was complete */
	HTTP_CUT,	 /* the body is shorter than the headers said */
	HTTP_TOO_LONG,	 /* the body does not fit into its memory */
	HTTP_FLOODED,	 /* headers do not end */
	HTTP_NO_HTTP,	 /* what answers speaks another protocol */
	HTTP_IMPOSSIBLE, /* it could not be sent, as when the URL is not one */
	HTTP_NO_MEMORY,
	HTTP_CANCELLED, /* by http_cancel(), http_end() or http_rest() */
	HTTP_ENDS,
};

/* What to send: filled by prepare(), which adds headers. */
struct http_message {
	const char *url;
	const char *range;   /* "0-65535", "-1024" */
	bool netrc;	     /* user and password may come from ~/.netrc */
	bool direct;	     /* through no proxy */
	struct buf *headers; /* header_add() */
};

struct http_outcome {
	enum http_end end;
	struct object_answer answer; /* status is 0 if no answer came */
	const char *redirect;	     /* the whole URL that a 3xx leads to; NULL: none */
	const char *reason;	     /* libcurl's words; "": none */
	bool cropped;		     /* lines are missing in the headers, which were too many */
	uint64_t first_byte_us;	     /* until the answer began */
	uint64_t retry_after;	     /* seconds, as the server asks; 0: it does not */
};

struct http_verdict {
	bool again, overloaded;
	uint64_t pause_ns;
};

struct http_transfer_ops {
	/* Fills *ret and adds headers. Returns 0, -EAGAIN (it cannot be sent yet; asked again soon)
	 * or -errno: the transfer then ends with HTTP_IMPOSSIBLE. */
	int (*prepare)(struct http_transfer *transfer, struct http_message *ret);
	/* Called when the body of an answer begins. Returns whether it goes into iov, at `got`. */
	bool (*accept)(struct http_transfer *transfer, unsigned status, const char *headers);
	/* Unless it is asked for again, the transfer belongs to the owner now, who may free it
	 * here. */
	struct http_verdict (*finished)(struct http_transfer *transfer,
					const struct http_outcome *outcome);
};

struct http_transfer {
	const struct http_transfer_ops *ops;
	const struct iovec *iov; /* not changed; may have gaps, see base/reader.h */
	int count;
	const atomic_bool *ahead; /* read until it begins; NULL: somebody waits for it */
	uint64_t got; /* bytes in iov, also from attempts that failed; the owner may lower it */

	/* What follows belongs to http.c: */
	struct http_transfer *next;
	struct http_client *client;
	struct http_host *host;	    /* that it was under way to last; NULL: it was not */
	_Atomic uint64_t *received; /* where bytes of bodies are counted */
	uint64_t number;	    /* in the order in which they were submitted */
	uint64_t due;		    /* not to be asked for before, ns */
};

/* Settings must outlive it. Returns 0, -ENOSYS (no libcurl) or -ENOMEM. */
int http_new(const struct remote_settings *settings, struct http **ret, struct err *err);
/* Does what http_rest() does first; after all of its clients. NULL is fine. */
void http_free(struct http *http);

/* Finishes all transfers with HTTP_CANCELLED, closes all connections and ends the thread. */
void http_rest(struct http *http);

/* A client that asks the server of this URL first. Returns 0 or -ENOMEM. */
int http_client_new(struct http *http, const char *url, struct http_client **ret);
/* Does what http_end() does first. NULL is fine. */
void http_client_free(struct http_client *client);

/* Each transfer finishes; with HTTP_CANCELLED at once if no thread can be made. */
void http_submit(struct http_client *client, struct http_transfer *transfer);

/* Finishes with HTTP_CANCELLED what is ahead, and what pauses, of this client. Does not wait. From
 * then on the owner must not ask for anything again. */
void http_cancel(struct http_client *client);
/* Finishes with HTTP_CANCELLED all of this client, and waits for that. */
void http_end(struct http_client *client);

/* Whether this client may tell the user that its server fails, since no other of that server's has;
 * and that it does not any more. Called in the thread of transfers. */
bool http_speak(struct http_client *client);
void http_hush(struct http_client *client);

/* Ends all pauses of those who wait for the same server. Called in the thread of transfers. */
void http_hurry(struct http_client *client);

/* Fills all of *ret but the times. */
void http_stats(struct http_client *client, struct reader_stats *ret);
