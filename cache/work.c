#include "cache/work.h"
#include "base/scope.h"

struct queue {
	struct work_item *first, **last;
};

struct work {
	work_fn *run;
	void *context;
	unsigned threads, started;

	pthread_mutex_t lock;
	pthread_cond_t wake; /* an item was added, or a thread came free, or stopping */
	struct queue queues[WORK_CLASSES];  /* protected by lock */
	unsigned ahead_running, ahead_most; /* protected by lock; threads on WORK_AHEAD */
	bool stopping;			    /* protected by lock */
	pthread_t ids[];
};

int work_new(unsigned threads, work_fn *run, void *context, struct work **ret)
{
	struct work *work = calloc(1, sizeof(*work) + threads * sizeof(work->ids[0]));

	if (!work)
		return -ENOMEM;
	work->run = run;
	work->context = context;
	work->threads = threads;
	work->ahead_most = threads > 1 ? threads / 2 : 1;
	pthread_mutex_init(&work->lock, NULL);
	pthread_cond_init(&work->wake, NULL);
	for (int i = 0; i < WORK_CLASSES; i++)
		work->queues[i].last = &work->queues[i].first;
	*ret = work;
	return 0;
}

static struct work_item *pop(struct queue *queue)
{
	struct work_item *item = queue->first;

	if (item) {
		queue->first = item->next;
		if (!queue->first)
			queue->last = &queue->first;
	}
	return item;
}

/* The next item that may run now; lock is held. */
static struct work_item *take(struct work *work, enum work_class *ret_class)
{
	struct work_item *item = pop(&work->queues[WORK_WANTED]);

	*ret_class = WORK_WANTED;
	if (item)
		return item;
	*ret_class = WORK_AHEAD;
	return work->ahead_running < work->ahead_most ? pop(&work->queues[WORK_AHEAD]) : NULL;
}

static void run_unlocked(struct work *work, enum work_class class, struct work_item *item)
{
	work->ahead_running += class == WORK_AHEAD;
	pthread_mutex_unlock(&work->lock);
	work->run(work->context, item);
	pthread_mutex_lock(&work->lock);
	work->ahead_running -= class == WORK_AHEAD;
}

static void *work_thread(void *arg)
{
	struct work *work = arg;

	SCOPE_LOCK(&work->lock);
	for (;;) {
		enum work_class class;
		struct work_item *item = take(work, &class);

		if (item)
			run_unlocked(work, class, item);
		else if (work->stopping)
			return NULL;
		else
			pthread_cond_wait(&work->wake, &work->lock);
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

void work_add(struct work *work, enum work_class class, struct work_item *item)
{
	struct queue *queue = &work->queues[class];

	item->next = NULL;
	SCOPE_LOCK(&work->lock);
	*queue->last = item;
	queue->last = &item->next;
	pthread_cond_signal(&work->wake);
}

/* Threads end only when nothing that may run is left. What is read ahead and must wait for its
 * class is taken by the threads of that class, which are running. */
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
