#include "pack/tool/work/reads_ahead.h"

#include "base/clock.h"
#include "base/scope.h"
#include "pack/tool/work/interrupt.h"
#include <time.h>

#define LOOK_NS (CLOCK_SECOND / 10) /* for an interruption */

void reads_ahead_init(struct reads_ahead *all, struct reader *reader)
{
	*all = (struct reads_ahead){.reader = reader};
	pthread_mutex_init(&all->lock, NULL);
	clock_cond_init(&all->ended);
}

void reads_ahead_cancel(struct reads_ahead *all)
{
	bool busy;

	pthread_mutex_lock(&all->lock);
	busy = all->under_way;
	pthread_mutex_unlock(&all->lock);
	if (busy)
		reader_cancel(all->reader);
}

void reads_ahead_release(struct reads_ahead *all)
{
	reads_ahead_cancel(all);
	pthread_mutex_lock(&all->lock);
	while (all->under_way)
		pthread_cond_wait(&all->ended, &all->lock);
	pthread_mutex_unlock(&all->lock);
	pthread_cond_destroy(&all->ended);
	pthread_mutex_destroy(&all->lock);
}

static void on_end(void *arg, int error)
{
	struct read_ahead *read = arg;
	struct reads_ahead *all = read->all;

	SCOPE_LOCK(&all->lock);
	read->error = error;
	read->ended = true;
	all->under_way--;
	pthread_cond_broadcast(&all->ended);
}

void reads_ahead_begin(struct reads_ahead *all, struct read_ahead *read, void *memory,
		       uint64_t offset, uint64_t needed)
{
	*read = (struct read_ahead){
		.all = all,
		.iov = {.iov_base = memory,
			.iov_len = (needed + READER_PAGE - 1) / READER_PAGE * READER_PAGE},
		.request = {.iov = &read->iov,
			    .count = 1,
			    .offset = offset,
			    .needed = needed,
			    .ahead = true,
			    .done = on_end,
			    .arg = read}};
	pthread_mutex_lock(&all->lock);
	all->under_way++;
	pthread_mutex_unlock(&all->lock);
	reader_submit(all->reader, &read->request);
}

int reads_ahead_wait(struct read_ahead *read)
{
	struct reads_ahead *all = read->all;

	atomic_store(&read->request.ahead, false);
	SCOPE_LOCK(&all->lock);
	while (!read->ended && !interrupt_pending()) {
		const struct timespec until = clock_after(LOOK_NS);

		pthread_cond_timedwait(&all->ended, &all->lock, &until);
	}
	return read->ended ? read->error : -EINTR;
}

void reads_ahead_end(struct read_ahead *read, bool right)
{
	reader_settle(&read->request, right);
}
