/* What the calls of a job mean, whose paths lead into a pack: one table of calls, and an answer for
 * each as a read-only mount would give it. What does not concern the pack is passed on. */
#pragma once

#include "fs/mount.h"
#include "fs/nofuse/cursors.h"
#include "fs/nofuse/listener.h"
#include "fs/nofuse/resolve.h"
#include "fs/nofuse/skeleton.h"
#include "fs/nofuse/store.h"

/* What answers are made from; all of it borrowed. */
struct answers {
	struct mount *mount;
	const struct tree *tree;
	struct resolver resolver;
	const struct skeleton *skeleton;
	struct store *store;
	struct cursors *cursors;
	struct listener listener;
	char space[JOB_NAME]; /* the user namespace of this process */
};

/* The numbers of the calls that are answered. Returns how many; `most` is enough. */
#define CALLS_MAX 100
size_t calls_listed(uint32_t ret[static CALLS_MAX]);

/* Answers a call, or passes it on. Any thread; `waits` is called, at most once, before what takes
 * long. */
void calls_answer(const struct answers *answers, const struct asked *asked,
		  void (*waits)(void *context), void *context);
