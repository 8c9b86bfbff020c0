#include "remote/block_writer.h"
#include "base/clock.h"
#include "base/scope.h"
#include "base/size.h"
#include <stdio.h>
#include <string.h>

#define THREADS	    2			/* one writes pieces of 110 KB to a disk at 320 MB/s */
#define WAITS_MOST  (96 * MIB)		/* memory for callers that wait, in all */
#define MEMORY_MOST (128 * MIB)		/* memory for those that do not wait, and the others */
#define ROOM	    (4 * MIB)		/* asked for in one step: several processes may do so */
#define FULL_NS	    (10 * CLOCK_SECOND) /* until the writer asks again whether the cache may grow */

struct block_writer {
	struct block_store *store;
	void (*notice)(const char *line);
	struct jobs jobs;

	pthread_mutex_t lock;
	pthread_cond_t changed; /* what follows, all protected by lock: */
	uint64_t memory;	/* bytes taken and not written */
	uint64_t full_until;	/* nanoseconds */
	bool failed;
	bool asks;	  /* a thread asks the store */
	uint64_t room;	  /* bytes to grant before the store is asked again */
	uint64_t granted; /* bytes granted and not yet written: the store does not see them */
};

int block_writer_new(struct block_store *store, void (*notice)(const char *line),
		     struct block_writer **ret)
{
	struct block_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return -ENOMEM;
	jobs_init(&writer->jobs, THREADS);
	writer->store = store;
	writer->notice = notice;
	pthread_mutex_init(&writer->lock, NULL);
	clock_cond_init(&writer->changed);
	*ret = writer;
	return 0;
}

void block_writer_free(struct block_writer *writer)
{
	if (!writer)
		return;
	jobs_release(&writer->jobs);
	pthread_cond_destroy(&writer->changed);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Called with the lock held. */
static bool is_off(const struct block_writer *writer)
{
	return writer->failed || clock_ns() < writer->full_until;
}

static bool reserve(struct block_target *target, size_t len, bool wait)
{
	struct block_writer *writer = target->writer;
	uint64_t most = wait ? WAITS_MOST : MEMORY_MOST;
	bool fits;

	SCOPE_LOCK(&writer->lock);
	/* A piece larger than the bound is taken when nothing else is. */
	while (!(fits = writer->memory == 0 || writer->memory + len <= most) && wait &&
	       !is_off(writer))
		pthread_cond_wait(&writer->changed, &writer->lock);
	if (!fits || is_off(writer)) {
		target->left_out += len;
		return false;
	}
	writer->memory += len;
	return true;
}

static void give_back(struct block_piece *piece)
{
	struct block_writer *writer = piece->target->writer;

	if (piece->claims)
		block_claims_drop(piece->claims, piece->ahead, piece->offset,
				  piece->offset + piece->taken);
	SCOPE_LOCK(&writer->lock);
	writer->memory -= piece->taken;
	pthread_cond_broadcast(&writer->changed);
	free(piece->memory);
	free(piece);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Called with the lock held, and without while the store is asked: that takes long. */
static bool take_room(struct block_writer *writer, size_t len)
{
	while (writer->asks || (writer->room < len && writer->granted))
		pthread_cond_wait(&writer->changed, &writer->lock);
	if (writer->room < len) {
		uint64_t room;

		writer->asks = true;
		pthread_mutex_unlock(&writer->lock);
		room = block_store_room(writer->store, len > ROOM ? len : ROOM);
		pthread_mutex_lock(&writer->lock);
		writer->room = room;
		writer->asks = false;
		pthread_cond_broadcast(&writer->changed);
	}
	writer->full_until = writer->room < len ? clock_ns() + FULL_NS : 0;
	if (writer->room < len)
		return false;
	writer->room -= len;
	writer->granted += len;
	return true;
}

static void say_failed(const struct block_writer *writer, int error)
{
	char line[256];

	snprintf(line, sizeof(line),
		 "the disk cache cannot be written to: %s; what is in it is used, and nothing is "
		 "added",
		 strerror(-error));
	if (writer->notice)
		writer->notice(line);
}

/* Returns false if the piece was not written. Says the first failure only. */
static bool write_piece(struct block_writer *writer, const struct block_piece *piece)
{
	bool may, first;
	int r;

	pthread_mutex_lock(&writer->lock);
	may = !is_off(writer) && take_room(writer, piece->len);
	pthread_mutex_unlock(&writer->lock);
	if (!may)
		return false;
	r = blocks_write(piece->target->blocks, piece->memory, piece->len, piece->offset);
	pthread_mutex_lock(&writer->lock);
	writer->granted -= piece->len;
	first = r < 0 && !writer->failed;
	writer->failed |= r < 0;
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
	if (first)
		say_failed(writer, r);
	return r == 0;
}

/* Whoever drains the target may free it once nothing waits, so that comes last. */
static void run_piece(struct job *job)
{
	struct block_piece *piece = (struct block_piece *)job;
	struct block_target *target = piece->target;
	struct block_writer *writer = target->writer;
	uint64_t lost = write_piece(writer, piece) ? 0 : piece->len;

	give_back(piece);
	SCOPE_LOCK(&writer->lock);
	target->left_out += lost;
	target->waiting--;
	pthread_cond_broadcast(&writer->changed);
}

struct block_piece *block_writer_take(struct block_target *target, size_t len, uint64_t offset,
				      bool wait)
{
	struct block_piece *piece;

	if (!reserve(target, len, wait))
		return NULL;
	piece = calloc(1, sizeof(*piece));
	if (!piece) {
		SCOPE_LOCK(&target->writer->lock);
		target->writer->memory -= len;
		return NULL;
	}
	*piece = (struct block_piece){
		.job.run = run_piece, .target = target, .len = len, .offset = offset, .taken = len};
	if (posix_memalign(&piece->memory, READER_PAGE,
			   (len + READER_PAGE - 1) / READER_PAGE * READER_PAGE) != 0) {
		piece->memory = NULL;
		give_back(piece);
		return NULL;
	}
	return piece;
}

void block_writer_put(struct block_piece *piece)
{
	struct block_target *target = piece->target;

	if (piece->len == 0) {
		give_back(piece);
		return;
	}
	pthread_mutex_lock(&target->writer->lock);
	target->waiting++;
	pthread_mutex_unlock(&target->writer->lock);
	jobs_add(&target->writer->jobs, &piece->job);
}

void block_writer_drain(struct block_target *target)
{
	SCOPE_LOCK(&target->writer->lock);
	while (target->waiting)
		pthread_cond_wait(&target->writer->changed, &target->writer->lock);
}

void block_writer_rest(struct block_writer *writer)
{
	jobs_rest(&writer->jobs);
}

void block_writer_stats(struct block_target *target, struct block_writer_stats *ret)
{
	SCOPE_LOCK(&target->writer->lock);
	*ret = (struct block_writer_stats){.left_out = target->left_out,
					   .full = clock_ns() < target->writer->full_until,
					   .failed = target->writer->failed};
}
