/* Pages of a server's listing, many at a time.
 *
 * What may pass, as an overload or a connection that breaks, is asked for again, as retry.h has it,
 * for as long as an object is that is being opened, and told in the same way (outage_notice.h).
 *
 * Threads: one asks and takes. The functions of `auth` are called in the thread of transfers, until
 * pages_free(). */
#pragma once

#include "base/err.h"
#include "remote/http.h"
#include "remote/object_auth.h"
#include "remote/remote.h"

struct pages;

struct page {
	struct http_transfer transfer; /* first */
	struct pages *pages;
	struct page *next;
	char *ask;
	void *of;	      /* whatever the one who asks needs to know */
	char *headers, *body; /* of the answer, with a NUL at the end of the latter */
	bool cropped;	      /* lines are missing in the headers */
	int error;	      /* why there is no page; 0: there is one */
	struct err why;

	/* What follows belongs to page.c: */
	struct iovec iov;
	char *url;	/* it was asked for by, and */
	unsigned moves; /* those of `auth` at that time */
	uint64_t begun; /* when it was asked for first, ns; 0: it was not */
	unsigned tries, refusals;
};

/* What an answer means that is not a page: as that of struct object_auth_ops. */
typedef int page_refused_fn(struct object_auth *auth, const struct object_answer *answer,
			    struct err *err);

/* `shown` is the name in notices. All must outlive the pages. Sends nothing yet. Returns 0, -ENOSYS
 * or -ENOMEM. */
int pages_new(const char *shown, struct object_auth *auth, page_refused_fn *refused,
	      const struct remote_settings *settings, struct remote *remote, struct pages **ret,
	      struct err *err);
/* After pages_end(), and when all have been taken. NULL is fine. Returns how many requests were
 * sent. */
uint64_t pages_free(struct pages *pages);

/* Asks for a page: a URL of the server of `auth`, or a query, with its '?', for the URL of `auth`.
 * The text, from malloc, is taken over in any case. Returns 0 or -ENOMEM. */
int pages_ask(struct pages *pages, char *ask, void *of);
/* Waits for the next page that comes, in any order, or does not: see its error, as -EMSGSIZE (it
 * has more than BOUND_PAGE). The caller frees it. NULL: none is under way. */
struct page *pages_next(struct pages *pages);
/* All that are under way come, at once, without being pages. */
void pages_end(struct pages *pages);

void page_free(struct page *page); /* NULL is fine */
void page_release(struct page **page);
