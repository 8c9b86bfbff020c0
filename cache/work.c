#include "cache/work.h"
#include "base/clock.h"
#include "base/scope.h"

struct work {
	const struct work_ops *ops;
	void *context;
	unsigned threads, started;

	pthread_mutex_t lock;
	pthread_cond_t wake; /* an item was added, or look, or stopping; signalled when the
			      * lock is free, as the woken thread takes it first */
	struct work_item *first, **last; /* protected by lock */
	unsigned expected;		 /* protected by lock; items that are under way elsewhere */
	bool look;			 /* protected by lock; `find` was not asked since it may */
	struct timespec later;		 /* protected by lock; when `look` becomes true, or 0 */
	bool timed;			 /* protected by lock; a thread waits for that */
	bool stopping;			 /* protected by lock */
	pthread_t ids[];
};

int work_new(unsigned threads, const struct work_ops *ops, void *context, struct work **ret)
{
	struct work *work = calloc(1, sizeof(*work) + threads * sizeof(work->ids[0]));

	if (!work)
		return -ENOMEM;
	work->ops = ops;
	work->context = context;
	work->threads = threads;
	pthread_mutex_init(&work->lock, NULL);
	clock_cond_init(&work->wake);
	work->last = &work->first;
	*ret = work;
	return 0;
}

static struct work_item *pop(struct work *work)
{
	struct work_item *item = work->first;

	if (item) {
		work->first = item->next;
		if (!work->first)
			work->last = &work->first;
	}
	return item;
}

/* Another thread looks meanwhile, if that is to be done. */
static void run_unlocked(struct work *work, struct work_item *item)
{
	bool look = work->look;

	pthread_mutex_unlock(&work->lock);
	if (look)
		pthread_cond_signal(&work->wake);
	work->ops->run(work->context, item);
	pthread_mutex_lock(&work->lock);
}

/* What is found runs beside what another thread may find. */
static void find_unlocked(struct work *work)
{
	struct work_item *item;

	work->look = false;
	work->later = (struct timespec){0};
	pthread_mutex_unlock(&work->lock);
	item = work->ops->find(work->context);
	if (item) {
		work_look(work);
		work->ops->run(work->context, item);
	}
	pthread_mutex_lock(&work->lock);
	if (item)
		work->look = true;
}

static void wait_for_work(struct work *work)
{
	struct timespec then;

	if (work->timed || work->later.tv_sec == 0) {
		pthread_cond_wait(&work->wake, &work->lock);
		return;
	}
	then = work->later;
	work->timed = true;
	if (pthread_cond_timedwait(&work->wake, &work->lock, &then) == ETIMEDOUT)
		work->look = true;
	work->timed = false;
}

static void *work_thread(void *arg)
{
	struct work *work = arg;

	SCOPE_LOCK(&work->lock);
	for (;;) {
		struct work_item *item = pop(work);

		if (item)
			run_unlocked(work, item);
		else if (work->stopping && !work->expected)
			return NULL;
		else if (work->look)
			find_unlocked(work);
		else
			wait_for_work(work);
	}
}

int work_start(struct work *work)
{
	while (work->started < work->threads) {
		int r = pthread_create(&work->ids[work->started], NULL, work_thread, work);

		if (r != 0) {
			work_stop(work);
			return -r;
		}
		work->started++;
	}
	return 0;
}

/* Lock held. */
static void push(struct work *work, struct work_item *item)
{
	item->next = NULL;
	*work->last = item;
	work->last = &item->next;
}

void work_add(struct work *work, struct work_item *item)
{
	pthread_mutex_lock(&work->lock);
	push(work, item);
	pthread_mutex_unlock(&work->lock);
	pthread_cond_signal(&work->wake);
}

void work_expect(struct work *work)
{
	SCOPE_LOCK(&work->lock);
	work->expected++;
}

/* All threads may have been waiting for the last one, to end. Signalled with the lock held: once it
 * is free, they may end, and `work` with them. */
void work_arrived(struct work *work, struct work_item *item)
{
	SCOPE_LOCK(&work->lock);
	push(work, item);
	work->expected--;
	if (work->stopping)
		pthread_cond_broadcast(&work->wake);
	else
		pthread_cond_signal(&work->wake);
}

void work_look(struct work *work)
{
	bool known;

	pthread_mutex_lock(&work->lock);
	known = work->look;
	work->look = true;
	pthread_mutex_unlock(&work->lock);
	if (!known)
		pthread_cond_signal(&work->wake);
}

void work_look_after(struct work *work, uint64_t ns)
{
	SCOPE_LOCK(&work->lock);
	work->later = clock_after(ns);
}

/* Threads end only when nothing queued is left. */
void work_stop(struct work *work)
{
	pthread_mutex_lock(&work->lock);
	work->stopping = true;
	pthread_cond_broadcast(&work->wake);
	pthread_mutex_unlock(&work->lock);
	while (work->started)
		pthread_join(work->ids[--work->started], NULL);
}

void work_free(struct work *work)
{
	if (!work)
		return;
	pthread_cond_destroy(&work->wake);
	pthread_mutex_destroy(&work->lock);
	free(work);
}
