#include "remote/polls.h"
#include "base/scope.h"
#include <errno.h>
#include <time.h>

#define NAP_NS 1000000

struct polls {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;	   /* a wait was added, or stopping */
	struct poll_wait *added;   /* protected by lock */
	bool started, stopping;	   /* protected by lock */
	struct poll_wait *waiting; /* the thread's own */
};

int polls_new(struct polls **ret)
{
	struct polls *polls = calloc(1, sizeof(*polls));

	if (!polls)
		return -ENOMEM;
	pthread_mutex_init(&polls->lock, NULL);
	pthread_cond_init(&polls->changed, NULL);
	*ret = polls;
	return 0;
}

void polls_free(struct polls *polls)
{
	if (!polls)
		return;
	polls_rest(polls);
	pthread_cond_destroy(&polls->changed);
	pthread_mutex_destroy(&polls->lock);
	free(polls);
}

/* Takes what was added. False: the thread ends. */
static bool take_added(struct polls *polls)
{
	SCOPE_LOCK(&polls->lock);
	while (!polls->waiting && !polls->added && !polls->stopping)
		pthread_cond_wait(&polls->changed, &polls->lock);
	while (polls->added) {
		struct poll_wait *wait = polls->added;

		polls->added = wait->next;
		wait->next = polls->waiting;
		polls->waiting = wait;
	}
	return polls->waiting;
}

static void *polls_thread(void *arg)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	struct polls *polls = arg;

	while (take_added(polls)) {
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
	return NULL;
}

int polls_add(struct polls *polls, struct poll_wait *wait)
{
	int r = 0;

	SCOPE_LOCK(&polls->lock);
	if (!polls->started)
		r = -pthread_create(&polls->thread, NULL, polls_thread, polls);
	if (r < 0)
		return r;
	polls->started = true;
	wait->next = polls->added;
	polls->added = wait;
	pthread_cond_signal(&polls->changed);
	return 0;
}

void polls_rest(struct polls *polls)
{
	bool started;

	pthread_mutex_lock(&polls->lock);
	started = polls->started;
	polls->stopping = true;
	pthread_cond_signal(&polls->changed);
	pthread_mutex_unlock(&polls->lock);
	if (started)
		pthread_join(polls->thread, NULL);
	polls->started = polls->stopping = false;
}
