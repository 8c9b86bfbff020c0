#include "remote/polls.h"
#include "base/scope.h"

#define NAP_NS 1000000

/* Takes all that wait, asks each, and puts back those whose wait is not over. */
static bool ask_waits(void *context)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	struct polls *polls = context;
	struct poll_wait *all = polls->first, **at = &all;

	if (!all)
		return false;
	polls->first = NULL;
	pthread_mutex_unlock(&polls->workers.lock);
	while (*at) {
		struct poll_wait *wait = *at, *next = wait->next;

		if (wait->is_over(wait))
			*at = next;
		else
			at = &wait->next;
	}
	if (all)
		nanosleep(&nap, NULL);
	pthread_mutex_lock(&polls->workers.lock);
	*at = polls->first;
	polls->first = all;
	return true;
}

void polls_init(struct polls *polls)
{
	workers_init(&polls->workers, 1, ask_waits, polls);
	polls->first = NULL;
}

void polls_release(struct polls *polls)
{
	workers_release(&polls->workers);
}

int polls_add(struct polls *polls, struct poll_wait *wait)
{
	int r;

	SCOPE_LOCK(&polls->workers.lock);
	r = workers_begin(&polls->workers);
	if (r < 0)
		return r;
	wait->next = polls->first;
	polls->first = wait;
	pthread_cond_signal(&polls->workers.changed);
	return 0;
}

void polls_rest(struct polls *polls)
{
	workers_rest(&polls->workers);
}
