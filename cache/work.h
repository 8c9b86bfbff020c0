/* A queue of work in two classes, and the threads that do it: what somebody waits for goes
 * before what is read ahead, and reading ahead never takes more than half of the threads, so
 * that a wanted read finds one. First come, first served within a class. */
#ifndef CACHE_WORK_H
#define CACHE_WORK_H

#include <stdbool.h>

struct work_item {
	struct work_item *next;
};

enum work_class { WORK_WANTED, WORK_AHEAD, WORK_CLASSES };

typedef void work_fn(void *context, struct work_item *item);

struct work;

/* Returns 0 or -ENOMEM. No thread runs yet. */
int work_new(unsigned threads, work_fn *run, void *context, struct work **ret);
/* Returns 0 or -errno; on failure those started are ended again. */
int work_start(struct work *work);
/* Queues an item, which is the queue's until `run` gets it. */
void work_add(struct work *work, enum work_class class, struct work_item *item);
/* Lets the threads finish all that is queued and ends them. */
void work_stop(struct work *work);
void work_free(struct work *work); /* stopped, or never started; NULL is fine */

#endif
