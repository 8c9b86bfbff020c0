/* Threads that do what is queued, first come first served, and only when nothing is, what can be
 * found: work that somebody waits for always goes first. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct work_item {
	struct work_item *next;
};

struct work_ops {
	void (*perform)(void *context, struct work_item *item);
	/* An item that may be run now though nobody asked for it, or NULL; called without locks, in
	 * any of the threads. */
	struct work_item *(*find)(void *context);
};

struct work;

/* Returns 0 or -ENOMEM. No thread runs yet. */
int work_new(unsigned threads, const struct work_ops *ops, void *context, struct work **ret);
/* Returns 0 or -errno; on failure those started are ended again. */
int work_start(struct work *work);
/* Queues an item, which is the queue's until `perform` gets it. */
void work_add(struct work *work, struct work_item *item);
/* An item is under way elsewhere, and work_arrived() will queue it: the threads do not end before
 * it has run. */
void work_expect(struct work *work);
void work_arrived(struct work *work, struct work_item *item);
/* `find` may find something now. */
void work_look(struct work *work);
/* `find` may find something in so much time, unless it is asked before: to be called by it. */
void work_look_after(struct work *work, uint64_t ns);
/* Lets the threads finish all that is queued or expected and ends them. */
void work_stop(struct work *work);
void work_free(struct work *work); /* stopped, or never started; NULL is fine */
