/* Scripts (maker.h) that are done with a file, and take the next one of a set: to start one takes
 * as long as many small files. Any thread. */
#pragma once

#include <pthread.h>

#define MAKERS_MOST 16

struct maker;

struct makers {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* one is not busy any more */
	/* What follows is protected by lock: */
	struct maker *resting[MAKERS_MOST];
	unsigned count, busy;
};

#define MAKERS_INIT \
	((struct makers){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER})

void makers_release(struct makers *makers); /* their scripts end */
