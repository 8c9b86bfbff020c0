#include "remote/block_filler.h"
#include "base/clock.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"

#define PIECE	  (4 * MIB) /* of one request; 24 of them bring 880 MB/s at 30 ms and 50 MB/s each */
#define UNDER_WAY 24
#define AGAIN_NS  (2 * CLOCK_SECOND)   /* between two passes over a copy */
#define SHORT_NS  (CLOCK_SECOND / 100) /* until memory is asked for again */

/* Called with the lock held. */
static void forget_filler(struct block_filler *filler)
{
	struct block_filler **at = &filler->disk->first;

	while (*at && *at != filler)
		at = &(*at)->next;
	if (*at)
		*at = filler->next;
	filler->listed = filler->on = false;
}

/* A reader that finds damage first notes it, then starts the filler. So no damage is lost: either
 * it is noted before this looks, or the reader finds that the filler has ended. Called with the
 * lock held. */
static void end_pass(struct block_filler *filler, enum block_filler_state state)
{
	filler->on = false;
	filler->state = state;
	filler->due = clock_ns() + AGAIN_NS;
	if (blocks_complete(filler->blocks)) {
		filler->state = FILLER_COMPLETE;
		forget_filler(filler);
	}
}

/* The steps are called with the lock held, and may drop it. */
static void begin_pass(struct block_filler *filler)
{
	struct disk *disk = filler->disk;
	struct blocks *blocks = filler->blocks;
	enum block_filler_state state = FILLER_FILLING;

	pthread_mutex_unlock(&disk->filler.lock);
	if (blocks_see_complete(blocks))
		state = FILLER_COMPLETE;
	else if (!blocks_may_fill(blocks))
		state = FILLER_ELSEWHERE;
	else if (!block_store_has_room(disk->store, blocks_size(blocks) - blocks_used(blocks)))
		state = FILLER_NO_ROOM;
	pthread_mutex_lock(&disk->filler.lock);
	filler->error = 0;
	filler->at = 0;
	if (state == FILLER_FILLING) {
		filler->state = state;
		filler->on = true;
	} else {
		blocks_give_up_filling(blocks);
		end_pass(filler, state);
	}
}

static void finish_pass(struct block_filler *filler)
{
	struct disk *disk = filler->disk;
	bool failed = filler->error || disk_is_off(disk);

	blocks_give_up_filling(filler->blocks);
	end_pass(filler, failed ? FILLER_FAILED : FILLER_ELSEWHERE);
}

static void fetch_next(struct block_filler *filler)
{
	struct disk *disk = filler->disk;
	struct blocks *blocks = filler->blocks;
	uint64_t begin = 0, end = blocks_size(blocks);
	enum blocks_taken taken = BLOCKS_THERE;
	int r = 0;

	filler->under_way++;
	disk->under_way++;
	pthread_mutex_unlock(&disk->filler.lock);
	if (blocks_find_missing(blocks, filler->at, PIECE, &begin, &end))
		taken = blocks_take(blocks, begin, end);
	if (taken == BLOCKS_TAKEN)
		r = filler->fetch(filler, begin, end);
	if (r < 0)
		blocks_leave(blocks, begin, end);
	pthread_mutex_lock(&disk->filler.lock);
	filler->at = end;
	if (r == -ENOMEM && !disk_is_off(disk)) {
		filler->at = begin;
		filler->due = clock_ns() + SHORT_NS;
	}
	if (filler->error || disk_is_off(disk))
		filler->at = blocks_size(blocks);
	if (taken != BLOCKS_TAKEN || r < 0) {
		filler->under_way--;
		disk->under_way--;
	}
}

/* What the thread may do for it now. Called with the lock held. */
static void (*next_step(const struct block_filler *filler, uint64_t now))(struct block_filler *)
{
	bool all_asked = filler->at >= blocks_size(filler->blocks);

	if (filler->due > now)
		return NULL;
	if (!filler->on)
		return begin_pass;
	if (all_asked)
		return filler->under_way == 0 ? finish_pass : NULL;
	return filler->disk->under_way < UNDER_WAY ? fetch_next : NULL;
}

bool block_filler_step(void *arg)
{
	struct disk *disk = arg;
	struct block_filler *filler = disk->first;
	void (*step)(struct block_filler * filler) = NULL;
	uint64_t now = clock_ns();

	disk->filler.later = now + AGAIN_NS;
	while (filler && !disk->filler.stopping && !(step = next_step(filler, now))) {
		if (filler->due > now)
			disk->filler.later = min(disk->filler.later, filler->due);
		filler = filler->next;
	}
	if (!step)
		return false;
	filler->busy = true;
	step(filler);
	filler->busy = false;
	pthread_cond_broadcast(&disk->filler.changed);
	return true;
}

void block_filler_start(struct block_filler *filler)
{
	struct disk *disk = filler->disk;
	int r;

	SCOPE_LOCK(&disk->filler.lock);
	if (filler->listed)
		return;
	r = workers_begin(&disk->filler);
	if (r < 0) {
		filler->state = FILLER_FAILED;
		filler->error = r;
		return;
	}
	filler->listed = true;
	filler->due = clock_ns();
	filler->next = disk->first;
	disk->first = filler;
	pthread_cond_broadcast(&disk->filler.changed);
}

void block_filler_fetched(struct block_filler *filler, int error)
{
	struct disk *disk = filler->disk;

	SCOPE_LOCK(&disk->filler.lock);
	filler->under_way--;
	disk->under_way--;
	if (error) {
		filler->error = error;
		filler->at = blocks_size(filler->blocks);
	}
	pthread_cond_broadcast(&disk->filler.changed);
}

void block_filler_rest(struct block_filler *filler)
{
	struct disk *disk = filler->disk;
	bool was_on;

	pthread_mutex_lock(&disk->filler.lock);
	was_on = filler->on || filler->busy;
	forget_filler(filler);
	while (filler->busy || filler->under_way)
		pthread_cond_wait(&disk->filler.changed, &disk->filler.lock);
	filler->on = false;
	pthread_mutex_unlock(&disk->filler.lock);
	if (was_on)
		blocks_give_up_filling(filler->blocks);
}

enum block_filler_state block_filler_look(struct block_filler *filler, int *ret_error)
{
	SCOPE_LOCK(&filler->disk->filler.lock);
	*ret_error = filler->error;
	return filler->state;
}
