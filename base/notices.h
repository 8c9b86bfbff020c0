/* What is said of many files, once: the same sentence of a thousand shards is one line, with the
 * sum. Two sentences are the same where they differ only in their first number, which counts, or
 * two as "3 of 20", and in an example behind ", such as ", of which one is kept.
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

#define NOTICES_MOST 16 /* lines; more are counted */

struct notices {
	pthread_mutex_t lock;
	struct buf all; /* struct notice; protected by lock */
	bool logged;	/* protected by lock: see notices_first() */
};

#define NOTICES_INIT ((struct notices){.lock = PTHREAD_MUTEX_INITIALIZER})

void notices_release(struct notices *notices);

/* Both are copied. Without memory the notice is lost. */
void notices_add(struct notices *notices, const char *subject, const char *text);

/* Whether nobody has asked before: for what is said at once of one file, and is true of others. */
bool notices_first(struct notices *notices);

/* Says all of them, sorted by the first subject of each, and forgets them. */
void notices_say(struct notices *notices, void (*say)(const char *line));
