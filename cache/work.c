#include "cache/work.h"
#include "base/clock.h"
#include "base/scope.h"
#include "base/workers.h"

/* `changed` of the workers is signalled when their lock is free, as the woken thread takes it
 * first. */
struct work {
	struct workers workers;
	const struct work_ops *ops;
	void *context;
	/* What follows is protected by the lock of the workers: */
	struct work_item *first, **last;
	unsigned expected; /* items that are under way elsewhere */
	bool look;	   /* `find` was not asked since it may */
};

/* Another thread looks meanwhile, if that is to be done. */
static void perform_first(struct work *work)
{
	struct work_item *item = work->first;
	bool look = work->look;

	work->first = item->next;
	if (!work->first)
		work->last = &work->first;
	pthread_mutex_unlock(&work->workers.lock);
	if (look)
		pthread_cond_signal(&work->workers.changed);
	work->ops->perform(work->context, item);
	pthread_mutex_lock(&work->workers.lock);
}

/* What is found runs beside what another thread may find. */
static void find_unlocked(struct work *work)
{
	struct work_item *item;

	work->look = false;
	work->workers.later = 0;
	pthread_mutex_unlock(&work->workers.lock);
	item = work->ops->find(work->context);
	if (item) {
		work_look(work);
		work->ops->perform(work->context, item);
	}
	pthread_mutex_lock(&work->workers.lock);
	if (item)
		work->look = true;
}

static bool work_step(void *context)
{
	struct work *work = context;
	struct workers *workers = &work->workers;

	if (work->first) {
		perform_first(work);
		return true;
	}
	if (workers->stopping && !work->expected)
		return false;
	if (work->look || (workers->later && workers->later <= clock_ns())) {
		find_unlocked(work);
		return true;
	}
	if (workers->stopping)
		pthread_cond_wait(&workers->changed, &workers->lock);
	return workers->stopping;
}

int work_new(unsigned threads, const struct work_ops *ops, void *context, struct work **ret)
{
	struct work *work = calloc(1, sizeof(*work));

	if (!work)
		return -ENOMEM;
	workers_init(&work->workers, threads, work_step, work);
	work->ops = ops;
	work->context = context;
	work->last = &work->first;
	*ret = work;
	return 0;
}

int work_start(struct work *work)
{
	int r;

	pthread_mutex_lock(&work->workers.lock);
	r = workers_begin(&work->workers);
	pthread_mutex_unlock(&work->workers.lock);
	if (r < 0)
		work_stop(work);
	return r;
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
	pthread_mutex_lock(&work->workers.lock);
	push(work, item);
	pthread_mutex_unlock(&work->workers.lock);
	pthread_cond_signal(&work->workers.changed);
}

void work_expect(struct work *work)
{
	SCOPE_LOCK(&work->workers.lock);
	work->expected++;
}

/* All threads may have been waiting for the last one, to end. Signalled with the lock held: once it
 * is free, they may end, and `work` with them. */
void work_arrived(struct work *work, struct work_item *item)
{
	SCOPE_LOCK(&work->workers.lock);
	push(work, item);
	work->expected--;
	if (work->workers.stopping)
		pthread_cond_broadcast(&work->workers.changed);
	else
		pthread_cond_signal(&work->workers.changed);
}

void work_look(struct work *work)
{
	bool was;

	pthread_mutex_lock(&work->workers.lock);
	was = work->look;
	work->look = true;
	pthread_mutex_unlock(&work->workers.lock);
	if (!was)
		pthread_cond_signal(&work->workers.changed);
}

void work_look_after(struct work *work, uint64_t ns)
{
	SCOPE_LOCK(&work->workers.lock);
	work->workers.later = clock_ns() + ns;
}

void work_stop(struct work *work)
{
	workers_rest(&work->workers);
}

void work_free(struct work *work)
{
	if (!work)
		return;
	workers_release(&work->workers);
	free(work);
}
