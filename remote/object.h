/* One object on a server, read in ranges. All ranges are of the same object, or reading fails.
 *
 * The first range that arrives says which object it is (size and ETag). All later ones are asked
 * for with If-Match, and checked. Once the object has been replaced, all reads fail with -ESTALE.
 * What fails is asked for again (retry.h) for as long as the settings say, longer by the time that
 * the bytes that came take at HTTP_PACE; before a range has arrived, for OBJECT_OPENING at most.
 * The structs are for reader_remote.c, prefix.c, object.c and object_ask.c.
 *
 * Threads: any may call object_get(). object_free() is called alone. */
#pragma once

#include "base/digest.h"
#include "base/histogram.h"
#include "base/reader.h"
#include "remote/http.h"
#include "remote/object_auth.h"
#include "remote/outage_notice.h"
#include "remote/remote.h"

#define OBJECT_OPENING 30  /* seconds */
#define OBJECT_RANGE   64  /* bytes of its text */
#define TAGS_TEXT      512 /* bytes of an ETag, or a date; longer ones do not count */
#define TAGS_HEAD      ((size_t)20 << 10)

/* What tells the object from the next one at its URL.
 *
 * Servers say it by a strong ETag, or else by the time of the last modification. Those that a URL
 * redirects to in turn, as the edges of a CDN, need not agree on an ETag. So that counts for the
 * URL that gave it, up to its query. That there is the same object at another one is known if the
 * server of the object's own URL has said so, by X-Linked-ETag, as the Hub does; otherwise by size
 * and the first TAGS_HEAD bytes, which are to be looked at first: the superblock of a pack is among
 * them. */
struct object_tags {
	char *url; /* that gave the next two; NULL: none has yet */
	char etag[TAGS_TEXT], modified[TAGS_TEXT];
	char linked[TAGS_TEXT];	      /* X-Linked-ETag; "": none */
	char head[DIGEST_DIGITS + 1]; /* of the first bytes, */
	size_t head_len;	      /* which are so many; 0: they have not been seen */
};

/* What objects share that are read as one; or of one alone. */
struct object_group {
	char *shown;
	struct remote *remote;
	struct outage_notice notice; /* has the client, and belongs to the thread of transfers */
	struct histogram first_byte; /* us */
	atomic_bool cancelled;	     /* nothing is asked for again; see http_cancel() */
	bool many;	   /* who reads says what is wrong with one; outages are said here */
	atomic_bool plain; /* conditions are refused where they hold */
};

struct object {
	struct object_group *group;
	struct object_auth *auth; /* borrowed */
	atomic_bool stale;	  /* it was replaced, for good */
	_Atomic uint64_t size;	  /* UINT64_MAX: not known yet, and neither are these: */
	uint64_t named;	   /* another object at the URL has another number, in any process; 0:
			      the server gives neither a strong ETag nor Last-Modified */
	uint64_t modified; /* ns; 0: not known */

	/* What follows belongs to the thread of transfers alone. */
	struct object_tags tags;
	bool plain;	/* conditions are refused where they hold: answers tell */
	char *url;	/* its own; NULL: nothing has been asked for */
	unsigned moves; /* of `auth`, when that was made */
	char *redirect; /* where it redirects to; NULL: nowhere */
	unsigned turns; /* changes of that */
	bool vouched;	/* the object's own server says that it is the same there */
	bool arrived;	/* a range has, as a whole */
	char path[];	/* behind the URL of `auth` */
};

/* Called once, in the thread of transfers or the caller's, with the bytes read, or -errno and why.
 */
typedef void object_done_fn(void *arg, int64_t result, const struct err *why);

struct object_range {
	uint64_t first, len;
	bool some;		  /* fewer bytes, where the object ends, are not -ENODATA */
	bool suffix;		  /* the last `len` bytes of the object, or all of it, instead */
	const atomic_bool *ahead; /* nobody waits for it yet; NULL: somebody does */
};

/* `shown` is the name in notices, and `url` of the server. Settings and `remote` must outlive the
 * group. Sends nothing yet. Returns 0, -ENOSYS or -ENOMEM. */
int object_group_new(const char *shown, const char *url, const struct remote_settings *settings,
		     struct remote *remote, struct object_group **ret, struct err *err);
/* Cancels what is under way. NULL is fine. */
void object_group_free(struct object_group *group);

void object_group_stats(struct object_group *group, struct reader_stats *ret);

/* `path`: what its URL has behind that of `auth`, encoded. Group and `auth` must outlive the
 * object. Returns 0 or -ENOMEM. */
int object_new(struct object_group *group, struct object_auth *auth, const char *path,
	       struct object **ret);
/* Says before the first read which object it is, as a listing does: `etag` with its quotes, or "";
 * `linked`: it is X-Linked-ETag. Without a strong one, the time counts: seconds since 1970, or 0.
 */
void object_preset(struct object *object, uint64_t size, const char *etag, bool linked,
		   int64_t modified);
/* Also in the `done` of the last read. NULL is fine. */
void object_free(struct object *object);

/* Reads a range into iov, which may have gaps (base/reader.h); its struct and memory stay until
 * `done`. */
void object_get(struct object *object, const struct iovec *iov, int count,
		const struct object_range *range, object_done_fn *done, void *arg);

/* A range that is being read. */
struct object_read {
	struct http_transfer transfer; /* first */
	struct object *object;
	struct object_range range;
	object_done_fn *done;
	void *arg;

	/* Of this attempt: where it went, whether with a condition, and what was taken. */
	unsigned turn;
	bool redirected, conditional, accepted;
	int error; /* what is wrong with the answer; 0: nothing */
	struct err why;
	uint64_t begun;	   /* when it was asked for first, ns; 0: it was not */
	uint64_t expected; /* bytes in all, as an answer has said; 0: none has yet */
	uint64_t failed; /* when it first failed, ns, and later for what has come; 0: it has not */
	uint64_t got;	 /* after the attempt before */
	unsigned tries;	 /* since bytes came last */
	unsigned brief, hops, refusals;
	char text[OBJECT_RANGE];

	/* The beginning of the object at another URL, which comes before anything else is taken
	 * from there: iov_base is NULL, or the transfer goes there, and what it is for waits here.
	 */
	struct iovec look;
	const struct iovec *iov;
	int count;
	uint64_t had, had_expected;
};

static inline struct object_read *read_of(struct http_transfer *transfer)
{
	return (struct object_read *)transfer;
}

static inline uint64_t object_size(const struct object *object)
{
	return atomic_load(&object->size);
}

static inline bool is_object_open(const struct object *object)
{
	return atomic_load(&object->size) != UINT64_MAX;
}

/* The URL that is asked now. */
static inline const char *object_url(const struct object *object)
{
	return object->redirect ? object->redirect : object->url;
}

/* Changes when that does, or other credentials are used. */
static inline unsigned object_turn(const struct object *object)
{
	return object->turns + object->auth->moves;
}

/* object_ask.c. As struct http_transfer_ops has them. */
int object_prepare(struct http_transfer *transfer, struct http_message *ret);
bool object_accept(struct http_transfer *transfer, unsigned status, const char *headers);

/* Adds the headers of the credentials, if the message goes to the server of the object's own URL:
 * no other gets secrets. Returns as sign() of struct object_auth_ops. */
int object_sign(struct object_auth *auth, struct http_message *message, struct err *err);

/* The transfer goes on with what it is for. Without a look, does nothing. */
void object_end_look(struct object_read *read);
/* These headers are of an answer of object_url(), and of the object. Returns 0 or -ENOMEM. */
int object_take_tags(struct object *object, const char *headers, uint64_t total);
