/* A walker in three parts: walker_walk.c walks, over the pages and nodes that walker.c reads and
 * checks; walker_ahead.c asks for pages before the walk enters them. */
#pragma once

#include "pack/walker.h"

#define WALKER_DEPTH_MAX 32 /* CURSOR_STACK: liblmdb goes no deeper */

/* One page of the path from the root to a leaf. */
struct tree_level {
	uint8_t *page;
	uint64_t number;
	unsigned count; /* nodes */
	unsigned next;	/* the node that the walk takes next, up to count */
	bool loaded;	/* `page` is that of `number` */
};

/* Keys must rise strictly, and a page visited twice would repeat a key. So a walk ends and visits
 * each page at most once, without a record of the pages it has visited. */
struct walker {
	struct reader *reader;
	struct walker_info info;
	uint64_t bytes;				    /* of the file */
	struct tree_level levels[WALKER_DEPTH_MAX]; /* info.depth of them */
	struct tree_level scout; /* a branch page that is looked at ahead of the walk */
	uint64_t scouts;	 /* the parent of that page; 0: none yet */
	unsigned scouted;	 /* the next child of the parent to look at */
	bool walking;		 /* levels hold a path; else the walk is at its end */
	bool whole;		 /* it began at the first record */
	uint64_t seen;		 /* records since then */
	uint64_t big;		 /* pages of their big values */
	size_t key_len;		 /* of the last record; 0: none */
	uint8_t *key;		 /* room for a page */
	uint8_t memory[];
};

/* The page below node `i` of a branch page: 0, or -EBADMSG. */
int walker_child(const struct walker *walker, const struct tree_level *level, unsigned i,
		 uint64_t *ret, struct err *err);
/* Reads a page and checks it: 0, -EBADMSG, or the error of the read. */
int walker_load(const struct walker *walker, struct tree_level *level, uint64_t number,
		struct err *err);

/* The record at the leaf's `next`, which must have a greater key than the last one. */
int walker_take(struct walker *walker, struct tree_level *leaf, struct walker_record *ret,
		struct err *err);
/* Makes the walk take the node that leads to `key` next: in a leaf the first node that is not
 * before the key, in a branch page the last one that is not after it. The first node of a branch
 * page has no key: it leads to everything before the second node. */
int walker_aim(const struct walker *walker, struct tree_level *level, const void *key,
	       size_t key_len, struct err *err);

/* Called before a child of `above`, which is a leaf, is loaded. */
void walker_ask_ahead(struct walker *walker, const struct tree_level *above);
