/* How a listing is walked, many pages at once: what listed.c, of buckets, and listed_hub.c share.
 */
#pragma once

#include "remote/listed.h"
#include "remote/page.h"

/* Part of a listing, whose pages come one after the other. */
struct chain {
	struct chain *above; /* in the walk */
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
	struct object_auth *auth;
	struct pages *pages;
	struct chain *chains; /* to be asked for */
	unsigned under_way, asked;
	const char *above; /* the folder that is listed */
	bool ordered;	   /* it is listed by ranges of keys */
	char *first;	   /* name of the page that is taken; NULL: it has had none */
	/* What is asked for the next page of a chain: see pages_ask(). */
	int (*make)(struct chain *chain, char **ret);
	int (*turn)(struct walk *walk, struct page *page, struct err *err);
	page_refused_fn *refused;
};

void chain_free(struct chain *chain); /* NULL is fine */
void chain_release(struct chain **chain);

/* Adds a chain like this one, whose texts are copied, NULL as ""; its prefix is so many bytes of
 * that. Returns 0 or -ENOMEM. */
int walk_add(struct walk *walk, const struct chain *like, size_t prefix_len);
/* The page has this name. Returns 0 or -ENOMEM. */
int walk_note(struct walk *walk, const char *name);
/* Puts back the chain, whose next page is `next`, which is taken over. Returns 0, -EPROTO (it leads
 * in a circle) or -ENOMEM. */
int walk_again(struct walk *walk, struct chain **chain, char **next, struct err *err);

/* What a server sends is not taken. */
int walk_refuse_next(struct err *err);
int walk_refuse_long(struct err *err);
int walk_refuse_other(struct err *err);

/* Returns as listed_all(). */
int walk_all(struct walk *walk, struct err *err);

/* listed_hub.c: what asks the server of a repository. Returns 0, -EINVAL or as bearer_new(). */
int listed_hub_auth(const struct hub_name *name, const struct remote_settings *settings,
		    struct object_auth **ret, struct err *err);
int listed_hub(const struct listed_place *place, const char *folder, struct listed_ask *ask,
	       struct err *err);
