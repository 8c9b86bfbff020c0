/* How a listing is walked, many pages at once: what listed.c, of buckets, and listed_hub.c share.
 */
#pragma once

#include "remote/listed.h"
#include "remote/page.h"

/* Part of a listing, whose pages come one after the other. */
struct chain {
	struct chain *next;
	char *prefix;	 /* of a bucket */
	char *after;	 /* it begins behind this key; NULL: at the first one */
	bool before, at; /* keys before it were sent; it was, or the folder that it ends */
	char *token;	 /* of its next page; NULL: the first one is the next */
	char *url;	 /* of the next page, of the Hub */
	bool deep;	 /* what is in folders, too */
	unsigned pages;
	char *mark; /* of a page that may come again */
};

struct walk {
	struct listed_ask *ask;
	struct object_auth *auth;
	struct pages *pages;
	struct chain *chains; /* to be asked for */
	unsigned under_way, asked;
	const char *above; /* the folder on the Hub */
	char *first;	   /* name of the page that is taken; NULL: it has had none */
	int (*turn)(struct walk *walk, struct page *page, struct err *err);
};

void chain_free(struct chain *chain); /* NULL is fine */
void chain_release(struct chain **chain);

/* Adds a chain, whose prefix is so many bytes of that. Texts are copied, `after` may be NULL.
 * Returns 0 or -ENOMEM. */
int walk_add(struct walk *walk, bool deep, const char *prefix, size_t prefix_len,
	     const char *after);
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
