/* What is said of many files, once: the same sentence of a thousand shards is one line, with the
 * sums of its counts.
 *
 *	x-000000.tar: left out, as no image: 12 members
 *	x-000001.tar: left out, as no image: 30 members
 *	x-000000.tar and 1 more: left out, as no image: 42 members
 *
 * Any thread may add. */
#pragma once

#include "base/buf.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define NOTICES_MOST  16 /* lines; more are counted */
#define NOTICE_COUNTS 2

struct notice {
	const char *text; /* a sentence: its first {} stand for the counts, and (s) behind one
			     for the plural of its noun: "{} file(s)" */
	size_t numbers;	  /* of counts */
	uint64_t counts[NOTICE_COUNTS];
	const char *example; /* comes behind it; NULL or "": none does */
};

/* One with one count. */
#define NOTICE(said, count) (&(struct notice){.text = (said), .numbers = 1, .counts = {count}})

struct notices {
	pthread_mutex_t lock;
	struct buf all; /* struct said; protected by lock */
	bool logged;	/* protected by lock: see notices_first() */
};

#define NOTICES_INIT ((struct notices){.lock = PTHREAD_MUTEX_INITIALIZER})

void notices_release(struct notices *notices);

/* Copies it. What has the same text as another is added to that, whose example stays. Without
 * memory the notice is lost. */
void notices_add(struct notices *notices, const char *subject, const struct notice *notice);
/* Adds all of them to others, and forgets them. */
void notices_move(struct notices *from, struct notices *to);

/* Whether nobody has asked before: for what is said at once of one file, and is true of others. */
bool notices_first(struct notices *notices);

/* Says all of them, sorted by the first subject of each, and forgets them. */
void notices_say(struct notices *notices, void (*say)(const char *line));
