#include "remote/polls.h"
#include "base/scope.h"
#include "base/workers.h"
#include <errno.h>

#define NAP_NS 1000000

struct polls {
	struct workers workers;
	struct poll_wait *added;   /* protected by the lock of the workers */
	struct poll_wait *waiting; /* the thread's own */
};

static void take_added(struct polls *polls)
{
	while (polls->added) {
		struct poll_wait *wait = polls->added;

		polls->added = wait->next;
		wait->next = polls->waiting;
		polls->waiting = wait;
	}
}

static void ask_waits(struct polls *polls)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	struct poll_wait **at = &polls->waiting;

	while (*at) {
		struct poll_wait *wait = *at, *next = wait->next;

		if (wait->is_over(wait))
			*at = next;
		else
			at = &wait->next;
	}
	if (polls->waiting)
		nanosleep(&nap, NULL);
}

static bool polls_step(void *context)
{
	struct polls *polls = context;

	take_added(polls);
	if (!polls->waiting)
		return false;
	pthread_mutex_unlock(&polls->workers.lock);
	ask_waits(polls);
	pthread_mutex_lock(&polls->workers.lock);
	return true;
}

int polls_new(struct polls **ret)
{
	struct polls *polls = calloc(1, sizeof(*polls));

	if (!polls)
		return -ENOMEM;
	workers_init(&polls->workers, 1, polls_step, polls);
	*ret = polls;
	return 0;
}

void polls_free(struct polls *polls)
{
	if (!polls)
		return;
	workers_release(&polls->workers);
	free(polls);
}

int polls_add(struct polls *polls, struct poll_wait *wait)
{
	int r;

	SCOPE_LOCK(&polls->workers.lock);
	r = workers_begin(&polls->workers);
	if (r < 0)
		return r;
	wait->next = polls->added;
	polls->added = wait;
	pthread_cond_signal(&polls->workers.changed);
	return 0;
}

void polls_rest(struct polls *polls)
{
	workers_rest(&polls->workers);
}
