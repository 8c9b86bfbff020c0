/* How a listing is walked, many pages at once: what listed.c, of buckets, and listed_hub.c share.
 */
#pragma once

#include "remote/listed.h"
#include "remote/page.h"

/* Part of a listing, whose pages come one after the other. */
struct chain {
	struct chain *next;
	char *prefix;	   /* of a bucket */
	char *after;	   /* what it has is behind this key, */
	char *until;	   /* and not behind this one; "": it has all */
	unsigned together; /* folders of a range that it makes; 0: it has keys, and makes none */
	unsigned named;	   /* so far */
	bool ordered;	   /* it stands for a range of keys */
	char *token;	   /* of its next page; NULL: the first one is the next */
	char *url;	   /* of the next page, of the Hub */
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
	int (*turn)(struct walk *walk, struct page *page, struct err *err);
};

void chain_free(struct chain *chain); /* NULL is fine */
void chain_release(struct chain **chain);

/* Adds a chain like this one, whose texts are copied, NULL as ""; its prefix is so many bytes of
 * that. Returns 0 or -ENOMEM. */
int walk_add(struct walk *walk, const struct chain *like, size_t prefix_len);
/* The page has this name. Returns 0 or -ENOMEM. */
int walk_note(struct walk *walk, const char *name);
/* Puts back the chain, whose next page is `next`. Returns 0, -EPROTO (it leads in a circle) or
 * -ENOMEM. */
int walk_again(struct walk *walk, struct chain **chain, const char *next, struct err *err);

/* What a server sends is not taken. */
int walk_refuse_next(struct err *err);
int walk_refuse_long(struct err *err);
int walk_refuse_other(struct err *err);

/* Returns as listed_bucket(). */
int walk_all(struct walk *walk, page_refused_fn *refused, struct err *err);
