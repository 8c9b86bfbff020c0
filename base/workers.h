/* The threads of somebody who has something for them to do from time to time: they begin when they
 * are first needed, and end when they are told to rest.
 *
 * Each calls step() again and again, under the lock, which also protects what there is to do. While
 * step() finds nothing, it waits until `changed` is signalled.
 *
 * Threads: any number at once; workers_rest() and workers_release() are called alone. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define WORKERS_MOST 64

/* Called with the lock held, which it drops while it does something. Returns whether it did. */
typedef bool workers_step_fn(void *context);

struct workers {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* there may be something to do, or they are to end */
	workers_step_fn *step;
	void *context;
	/* What follows is protected by lock: */
	uint64_t later; /* when step() is called again in any case, ns; 0: it is not */
	bool timed;	/* a thread waits for that */
	bool stopping;	/* once step() finds nothing, they end */
	unsigned most, started;
	pthread_t threads[WORKERS_MOST];
};

/* `most`: threads, up to WORKERS_MOST. */
void workers_init(struct workers *workers, unsigned most, workers_step_fn *step, void *context);
void workers_release(struct workers *workers); /* as workers_rest() first */

/* Comes before `changed` is signalled, with the lock held. Returns 0, or -errno: not all threads
 * are there, but as many as have started. */
int workers_begin(struct workers *workers);

/* Ends the threads, once step() finds nothing. They may begin again. */
void workers_rest(struct workers *workers);
