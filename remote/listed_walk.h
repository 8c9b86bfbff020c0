/* How a listing is walked, many pages at once: what listed.c, of buckets, and listed_hub.c share.
 *
 * What may pass, as an overload or a connection that breaks, is asked for again, as retry.h has it,
 * for as long as an object is that is being opened, and told in the same way (outage_notice.h).
 *
 * Threads: one walks. The functions of the auth, and refused(), are called in the thread of
 * transfers. */
#pragma once

#include "remote/http.h"
#include "remote/listed.h"
#include "remote/outage_notice.h"

/* A page, and what it was asked for by. */
struct page {
	struct http_transfer transfer; /* first */
	char *ask, *url;
	unsigned moves; /* of the auth, when it was sent */
	uint64_t begun; /* when it was asked for first, ns; 0: it was not */
	unsigned tries, refusals;
	struct iovec iov;

	char *headers, *body; /* of the answer, with a NUL at the end of the latter */
	bool cropped;	      /* lines are missing in the headers */
	int error;	      /* why there is no page; 0: there is one */
	struct err why;
};

/* Part of a listing, whose pages come one after the other. */
struct chain {
	struct page page; /* first */
	struct walk *walk;
	struct chain *above; /* in a list of the walk */
	char *prefix;	     /* of a bucket */
	char *after;	     /* what it has is behind this key, */
	char *until;	     /* and not behind this one; "": it has all */
	unsigned together;   /* folders of a range that it makes; 0: it has keys, and makes none */
	unsigned named;	     /* so far */
	bool ordered;	     /* it stands for a range of keys */
	char *next;	     /* its next page: a token, or of the Hub a URL; NULL: the first one */
	unsigned pages;
	char *mark; /* of a page that may come again */
};

struct walk {
	struct listed_ask *ask;
	const struct listed_place *place;
	const char *folder; /* that is listed */
	bool ordered;	    /* by ranges of keys */
	/* What is asked for the next page of a chain: a URL of the server, or a query, with its
	 * '?', for the URL of the place. The text is from malloc. Returns 0 or -ENOMEM. */
	int (*make)(struct chain *chain, char **ret);
	/* Takes a page. The chain is freed, unless walk_again() puts it back. */
	int (*turn)(struct walk *walk, struct chain **chain, struct err *err);
	/* What an answer means that is not a page: as that of struct object_auth_ops. */
	int (*refused)(struct object_auth *auth, const struct object_answer *answer,
		       struct err *err);

	/* What follows belongs to listed_walk.c: */
	struct outage_notice notice; /* has the client */
	struct chain *chains;	     /* to be asked for */
	unsigned under_way, asked;
	char *first; /* name of the page that is taken; NULL: it has had none */
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct chain *come; /* protected by lock: those whose page has, or does not */
};

/* Adds a chain like this one, whose texts are copied, NULL as ""; its prefix is so many bytes of
 * that. Returns 0 or -ENOMEM. */
int walk_add(struct walk *walk, const struct chain *like, size_t prefix_len);
/* The page has this name, which must begin so, unless it is "". Returns 0, -E2BIG (it is too long),
 * -EPROTO (it is elsewhere) or -ENOMEM. */
int walk_note(struct walk *walk, const char *name, const char *above, struct err *err);
/* Puts back the chain, whose next page is `next`, which is taken over; the one before is freed.
 * Returns 0, -EPROTO (it leads in a circle) or -ENOMEM. */
int walk_again(struct walk *walk, struct chain **chain, char **next, struct err *err);
/* Forgets all chains that wait. */
void walk_drop(struct walk *walk);

/* What names the next page is too long. */
int walk_refuse_next(struct err *err);

/* Takes the pages of all chains, and of those that are added. Returns as listed_all(). */
int walk_all(struct walk *walk, struct err *err);

/* listed_hub.c: what asks the server of a repository. Returns 0, -EINVAL or as bearer_new(). */
int listed_hub_auth(const struct hub_name *name, const struct remote_settings *settings,
		    struct object_auth **ret, struct err *err);
int listed_hub(const struct listed_place *place, const char *folder, struct listed_ask *ask,
	       struct err *err);
