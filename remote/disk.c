#include "remote/disk.h"
#include "base/clock.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include <stdio.h>
#include <string.h>

#define READS	    8 /* pieces of 110 KB and more: as many are under way on a disk */
#define WRITES	    2 /* one writes pieces of 110 KB to a disk at 320 MB/s */
#define MEMORY_MOST (128 * MIB)
#define ROOM	    (4 * MIB)		/* asked for in one step: several processes may do so */
#define FULL_NS	    (10 * CLOCK_SECOND) /* until it is asked again whether the cache may grow */

#define PIECE	  (4 * MIB) /* of one request; 24 of them bring 880 MB/s at 30 ms and 50 MB/s each */
#define UNDER_WAY 24
#define AGAIN_NS  (2 * CLOCK_SECOND)   /* between two passes over a copy */
#define SHORT_NS  (CLOCK_SECOND / 100) /* until memory is asked for again */

/* --- threads ---------------------------------------------------------------------------------- */

static bool is_ahead(const struct job *job)
{
	return job->request && atomic_load(reader_ahead(job->request));
}

/* The first job that somebody waits for; if there is none, the first. Called with the lock held. */
static struct job *take_job(struct jobs *jobs)
{
	struct job **best = NULL, *job;
	uint64_t now = clock_ns(), later = UINT64_MAX;

	for (struct job **at = &jobs->first; *at; at = &(*at)->next) {
		if ((*at)->due > now && !jobs->workers.stopping) {
			later = (*at)->due < later ? (*at)->due : later;
			continue;
		}
		if (!best || !is_ahead(*at))
			best = at;
		if (!is_ahead(*at))
			break;
	}
	jobs->workers.later = later == UINT64_MAX ? 0 : later;
	if (!best)
		return NULL;
	job = *best;
	*best = job->next;
	if (jobs->last == &job->next)
		jobs->last = best;
	return job;
}

static bool run_next(void *context)
{
	struct jobs *jobs = context;
	struct job *job = take_job(jobs);

	if (!job)
		return false;
	pthread_mutex_unlock(&jobs->workers.lock);
	job->run(job);
	pthread_mutex_lock(&jobs->workers.lock);
	return true;
}

static void jobs_init(struct jobs *jobs, unsigned threads)
{
	workers_init(&jobs->workers, threads, run_next, jobs);
	jobs->first = NULL;
	jobs->last = &jobs->first;
}

bool jobs_add_later(struct jobs *jobs, struct job *job, uint64_t due)
{
	SCOPE_LOCK(&jobs->workers.lock);
	workers_begin(&jobs->workers);
	if (!jobs->workers.started)
		return false;
	job->due = due;
	job->next = NULL;
	*jobs->last = job;
	jobs->last = &job->next;
	pthread_cond_signal(&jobs->workers.changed);
	return true;
}

void jobs_add(struct jobs *jobs, struct job *job)
{
	if (!jobs_add_later(jobs, job, 0))
		job->run(job);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Whether nothing is written at present. Called with the lock held. */
static bool disk_is_off(const struct disk *disk)
{
	return disk->failed || clock_ns() < disk->full_until;
}

/* A piece larger than the bound is taken when nothing else is. */
void *disk_take(struct disk *disk, size_t len)
{
	void *memory = NULL;

	pthread_mutex_lock(&disk->filler.lock);
	if (disk_is_off(disk) || (disk->memory && disk->memory + len > MEMORY_MOST))
		len = 0;
	disk->memory += len;
	pthread_mutex_unlock(&disk->filler.lock);
	if (len && posix_memalign(&memory, READER_PAGE, pages_end(len)) != 0) {
		memory = NULL;
		disk_give_back(disk, NULL, len);
	}
	return memory;
}

void disk_give_back(struct disk *disk, void *memory, size_t len)
{
	free(memory);
	SCOPE_LOCK(&disk->filler.lock);
	disk->memory -= len;
}

/* The folder sees what was written, but not what is being written. Called with the lock held, and
 * without while the folder is asked: that takes long. */
static bool take_room(struct disk *disk, size_t len)
{
	while (disk->asks || (disk->room < len && disk->writing))
		pthread_cond_wait(&disk->filler.changed, &disk->filler.lock);
	if (!disk_is_off(disk) && disk->room < len) {
		uint64_t room;

		disk->asks = true;
		pthread_mutex_unlock(&disk->filler.lock);
		room = block_store_room(disk->store, max(len, ROOM));
		pthread_mutex_lock(&disk->filler.lock);
		disk->asks = false;
		disk->room = room;
		if (room < len)
			disk->full_until = clock_ns() + FULL_NS;
		pthread_cond_broadcast(&disk->filler.changed);
	}
	if (disk_is_off(disk) || disk->room < len)
		return false;
	disk->room -= len;
	disk->writing += len;
	return true;
}

/* Once for all copies: the reason is mostly the same. */
void disk_say_unused(struct disk *disk, int error)
{
	char line[256];

	snprintf(
		line, sizeof(line), "the disk cache cannot be used, the mount goes on without: %s",
		error == -EOPNOTSUPP
			? "its filesystem does not tell which parts of a file are holes (SEEK_HOLE)"
			: err_text(NULL, error));
	if (disk->notice && !atomic_exchange(&disk->logged, true))
		disk->notice(line);
}

bool disk_write(struct disk *disk, struct blocks *blocks, const void *memory, size_t len,
		uint64_t offset)
{
	char line[256];
	bool may, first;
	int r;

	pthread_mutex_lock(&disk->filler.lock);
	may = take_room(disk, len);
	pthread_mutex_unlock(&disk->filler.lock);
	if (!may)
		return false;
	r = blocks_write(blocks, memory, len, offset);
	pthread_mutex_lock(&disk->filler.lock);
	disk->writing -= len;
	first = r < 0 && !disk->failed;
	disk->failed |= r < 0;
	pthread_cond_broadcast(&disk->filler.changed);
	pthread_mutex_unlock(&disk->filler.lock);
	snprintf(line, sizeof(line),
		 "the disk cache cannot be written to: %s; what is in it is used, and nothing is "
		 "added",
		 strerror(-r));
	if (first && disk->notice)
		disk->notice(line);
	return r == 0;
}

/* --- what is filled ahead --------------------------------------------------------------------- */

/* The next five are called with the lock held. */
static void forget_fill(struct disk_fill *fill)
{
	struct disk_fill **at = &fill->disk->first;

	while (*at && *at != fill)
		at = &(*at)->next;
	if (*at)
		*at = fill->next;
	fill->listed = false;
}

/* A pass ends with the last of its requests, or with the thread. A reader that finds damage first
 * notes it, then starts the filler. So no damage is lost: either it is noted before this looks, or
 * the reader finds that the pass has ended. */
static void leave_pass(struct disk_fill *fill)
{
	if (--fill->under_way == 0) {
		blocks_give_up_filling(fill->blocks);
		if (fill->state == FILL_FILLING)
			fill->state = fill->error || disk_is_off(fill->disk) ? FILL_FAILED
									     : FILL_ELSEWHERE;
		fill->due = clock_ns() + AGAIN_NS;
		if (blocks_complete(fill->blocks)) {
			fill->state = FILL_COMPLETE;
			forget_fill(fill);
		}
	}
	pthread_cond_broadcast(&fill->disk->filler.changed);
}

/* Drops the lock. */
static void look_at_copy(struct disk_fill *fill)
{
	struct disk *disk = fill->disk;
	struct blocks *blocks = fill->blocks;
	enum disk_fill_state state = FILL_FILLING;

	pthread_mutex_unlock(&disk->filler.lock);
	if (blocks_see_complete(blocks))
		state = FILL_COMPLETE;
	else if (!blocks_may_fill(blocks))
		state = FILL_ELSEWHERE;
	else if (!block_store_has_room(disk->store, blocks_size(blocks) - blocks_used(blocks)))
		state = FILL_NO_ROOM;
	pthread_mutex_lock(&disk->filler.lock);
	fill->state = state;
}

/* Asks for what is missing first behind `at`. Drops the lock. Returns where that ends. */
static uint64_t fetch_next(struct disk_fill *fill, uint64_t at)
{
	struct disk *disk = fill->disk;
	struct blocks *blocks = fill->blocks;
	uint64_t begin = 0, end = blocks_size(blocks);
	enum blocks_taken taken = BLOCKS_THERE;
	int r = 0;

	fill->under_way++;
	disk->under_way++;
	pthread_mutex_unlock(&disk->filler.lock);
	if (blocks_find_missing(blocks, at, PIECE, &begin, &end))
		taken = blocks_take(blocks, begin, end);
	if (taken == BLOCKS_TAKEN)
		r = fill->fetch(fill, begin, end);
	if (r < 0) {
		blocks_leave(blocks, begin, end);
		nanosleep(&(struct timespec){.tv_nsec = SHORT_NS}, NULL);
	}
	pthread_mutex_lock(&disk->filler.lock);
	if (taken != BLOCKS_TAKEN || r < 0) {
		fill->under_way--;
		disk->under_way--;
	}
	return r == -ENOMEM ? begin : end;
}

/* A workers_step_fn: a pass over the first copy whose time has come. Whatever ends it is looked at
 * before each request. */
static bool fill_step(void *context)
{
	struct disk *disk = context;
	struct disk_fill *fill = disk->first;
	uint64_t now = clock_ns(), at = 0;

	disk->filler.later = now + AGAIN_NS;
	for (; fill && (fill->under_way || fill->due > now); fill = fill->next)
		if (!fill->under_way)
			disk->filler.later = min(disk->filler.later, fill->due);
	if (!fill || disk->filler.stopping)
		return false;
	fill->under_way = 1;
	fill->error = 0;
	look_at_copy(fill);
	while (fill->state == FILL_FILLING && fill->listed && !fill->error && !disk_is_off(disk) &&
	       !disk->filler.stopping && at < blocks_size(fill->blocks)) {
		if (disk->under_way < UNDER_WAY)
			at = fetch_next(fill, at);
		else
			pthread_cond_wait(&disk->filler.changed, &disk->filler.lock);
	}
	leave_pass(fill);
	return true;
}

void disk_fill_start(struct disk_fill *fill)
{
	struct disk *disk = fill->disk;
	int r;

	SCOPE_LOCK(&disk->filler.lock);
	if (fill->listed)
		return;
	r = workers_begin(&disk->filler);
	if (r < 0) {
		fill->state = FILL_FAILED;
		fill->error = r;
		return;
	}
	fill->listed = true;
	fill->due = clock_ns();
	fill->next = disk->first;
	disk->first = fill;
	pthread_cond_broadcast(&disk->filler.changed);
}

void disk_fill_fetched(struct disk_fill *fill, int error)
{
	SCOPE_LOCK(&fill->disk->filler.lock);
	if (error)
		fill->error = error;
	fill->disk->under_way--;
	leave_pass(fill);
}

void disk_fill_rest(struct disk_fill *fill)
{
	struct workers *filler = &fill->disk->filler;

	SCOPE_LOCK(&filler->lock);
	forget_fill(fill);
	pthread_cond_broadcast(&filler->changed);
	while (fill->under_way)
		pthread_cond_wait(&filler->changed, &filler->lock);
}

/* --- the disk --------------------------------------------------------------------------------- */

int disk_open(const char *spec, void (*notice)(const char *line), struct disk *ret, struct err *err)
{
	struct disk disk = {.notice = notice};
	int r = block_store_open(spec, &disk.store, err);

	if (r < 0)
		return r;
	block_store_notice(disk.store, notice);
	*ret = disk;
	jobs_init(&ret->reads, READS);
	jobs_init(&ret->writes, WRITES);
	workers_init(&ret->filler, 1, fill_step, ret);
	return 0;
}

void disk_rest(struct disk *disk)
{
	workers_rest(&disk->filler);
	workers_rest(&disk->reads.workers);
	workers_rest(&disk->writes.workers);
}

void disk_release(struct disk *disk)
{
	if (!disk->store)
		return;
	workers_release(&disk->filler);
	workers_release(&disk->reads.workers);
	workers_release(&disk->writes.workers);
	block_store_free(disk->store);
	*disk = (struct disk){0};
}
