#include "remote/block_filler.h"
#include "base/clock.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "remote/block_parts.h"

#define PIECE	  (4 * MIB) /* of one request; 24 of them bring 880 MB/s at 30 ms and 50 MB/s each */
#define UNDER_WAY 24
#define AGAIN_NS  (2 * CLOCK_SECOND) /* between two passes over a copy */

/* What comes next for a copy. */
enum step {
	STEP_NONE,
	STEP_FETCH,  /* a pass, once it is due */
	STEP_FINISH, /* once its requests have ended: whether the copy is complete */
};

struct block_filler {
	struct block_filler_params params;
	/* Protected by the lock of all: */
	struct block_filler *next;
	enum step step;
	uint64_t due;  /* of the next pass, ns */
	bool busy;     /* the thread works on it */
	bool stopping; /* the pass is to end */
	unsigned under_way;
	int error; /* the last one of this pass */
	enum block_filler_state state;
	/* The thread's own: */
	struct block_claims *claims; /* NULL: no pass */
	bool passed_over;	     /* others fetch some of what this pass needs */
	bool ended_early;	     /* it did not come to the end of the pack */
};

int block_filler_new(const struct block_filler_params *params, struct block_filler **ret)
{
	struct block_filler *filler = calloc(1, sizeof(*filler));

	if (!filler)
		return -ENOMEM;
	filler->params = *params;
	*ret = filler;
	return 0;
}

void block_filler_free(struct block_filler *filler)
{
	if (!filler)
		return;
	block_filler_rest(filler);
	free(filler);
}

static void note_error(struct block_filler *filler, int error)
{
	SCOPE_LOCK(&filler->params.fillers->workers.lock);
	filler->error = error;
}

/* --- one request ------------------------------------------------------------------------------ */

/* Waits until one more request may be under way. False: the pass ends. */
static bool take_place(struct block_filler *filler)
{
	struct block_fillers *all = filler->params.fillers;

	SCOPE_LOCK(&all->workers.lock);
	while (all->under_way >= UNDER_WAY && !filler->stopping)
		pthread_cond_wait(&all->workers.changed, &all->workers.lock);
	if (filler->stopping || filler->error)
		return false;
	filler->under_way++;
	all->under_way++;
	return true;
}

static void give_place(struct block_filler *filler)
{
	struct block_fillers *all = filler->params.fillers;

	SCOPE_LOCK(&all->workers.lock);
	filler->under_way--;
	all->under_way--;
	pthread_cond_broadcast(&all->workers.changed);
}

struct fetch {
	struct block_filler *filler;
	struct block_piece *piece;
	struct iovec iov;
	struct reader_request request;
};

static void on_fetched(void *arg, int error)
{
	struct fetch *fetch = arg;
	struct block_filler *filler = fetch->filler;

	if (error)
		fetch->piece->len = 0;
	block_writer_put(fetch->piece);
	free(fetch);
	if (error)
		note_error(filler, error);
	give_place(filler);
}

static int fetch_piece(struct block_filler *filler, struct block_piece *piece)
{
	struct fetch *fetch = calloc(1, sizeof(*fetch));

	if (!fetch) {
		piece->len = 0;
		block_writer_put(piece);
		note_error(filler, -ENOMEM);
		return -ENOMEM;
	}
	fetch->filler = filler;
	fetch->piece = piece;
	fetch->iov = (struct iovec){.iov_base = piece->memory, .iov_len = pages_end(piece->len)};
	fetch->request = (struct reader_request){.iov = &fetch->iov,
						 .count = 1,
						 .offset = piece->offset,
						 .needed = piece->len,
						 .ahead = true,
						 .done = on_fetched,
						 .arg = fetch};
	reader_submit(filler->params.far, &fetch->request);
	return 0;
}

/* --- one pass --------------------------------------------------------------------------------- */

/* Finds the next missing pages, from `at` on: at most PIECE. Pages that the copy has are among them
 * only where they are fewer than PARTS_GAP. False: nothing is missing. */
static bool find_missing(const struct blocks *blocks, uint64_t at, uint64_t end,
			 uint64_t *ret_begin, uint64_t *ret_end)
{
	uint64_t until = at, most;

	if (at < end && blocks_look(blocks, at, end, &until))
		at = until;
	if (at >= end)
		return false;
	most = end - at < PIECE ? end : at + PIECE;
	*ret_begin = at;
	*ret_end = at;
	while (at < most) {
		if (!blocks_look(blocks, at, most, &until))
			*ret_end = until;
		else if (until - at >= PARTS_GAP)
			break;
		at = until;
	}
	return true;
}

/* Fetches pages that are claimed. The writer gives no memory if it may not write, either: its own
 * stats say that. */
static bool fetch_claimed(struct block_filler *filler, uint64_t begin, uint64_t end)
{
	const struct block_filler_params *params = &filler->params;
	uint64_t size = blocks_size(params->blocks);
	struct block_piece *piece =
		block_writer_take(params->target, min(end, size) - begin, begin, true);
	struct block_writer_stats stats;

	if (!piece) {
		block_writer_stats(params->target, &stats);
		if (!stats.full && !stats.failed)
			note_error(filler, -ENOMEM);
		block_claims_drop(filler->claims, true, begin, end);
		return false;
	}
	piece->claims = filler->claims;
	piece->ahead = true;
	return fetch_piece(filler, piece) == 0;
}

/* Fetches from `begin` to *end, which it lowers to the first page that somebody else fetches.
 * Returns whether to go on. */
static bool fetch_run(struct block_filler *filler, uint64_t begin, uint64_t *end)
{
	bool fetched;

	if (!take_place(filler))
		return false;
	if (!block_claims_take(filler->claims, true, begin, *end, end)) {
		filler->passed_over = true;
		give_place(filler);
		return true;
	}
	fetched = fetch_claimed(filler, begin, *end);
	if (!fetched)
		give_place(filler);
	return fetched;
}

static bool is_incomplete(const struct block_filler *filler, uint64_t *ret_begin, uint64_t *ret_end)
{
	const struct blocks *blocks = filler->params.blocks;

	return find_missing(blocks, 0, pages_end(blocks_size(blocks)), ret_begin, ret_end);
}

/* Goes through the pack once. */
static void fetch_missing(struct block_filler *filler)
{
	struct blocks *blocks = filler->params.blocks;
	uint64_t end = pages_end(blocks_size(blocks));
	uint64_t at = 0, begin;
	bool goes_on = true;

	filler->passed_over = false;
	while (goes_on && find_missing(blocks, at, end, &begin, &at))
		goes_on = fetch_run(filler, begin, &at);
	filler->ended_early = !goes_on;
}

static void drop_claims(struct block_filler *filler)
{
	block_writer_drain(filler->params.target);
	block_claims_free(filler->claims);
	filler->claims = NULL;
}

/* All requests of the pass have ended. */
static enum block_filler_state finish_pass(struct block_filler *filler, int error)
{
	struct blocks *blocks = filler->params.blocks;
	uint64_t begin, end;

	drop_claims(filler);
	if (!filler->ended_early && error == 0 && !is_incomplete(filler, &begin, &end)) {
		blocks_set_complete(blocks);
		/* A reader may have found damage meanwhile. */
		if (is_incomplete(filler, &begin, &end))
			blocks_forget(blocks, begin, end - begin);
	}
	if (blocks_complete(blocks))
		return FILLER_COMPLETE;
	return error == 0 && filler->passed_over ? FILLER_ELSEWHERE : FILLER_FAILED;
}

/* --- the thread ------------------------------------------------------------------------------- */

/* What is to be said of the copy before a pass. */
static enum block_filler_state look_at_copy(const struct block_filler *filler)
{
	struct blocks *blocks = filler->params.blocks;
	uint64_t missing = sub_sat(blocks_size(blocks), blocks_used(blocks));

	if (blocks_see_complete(blocks))
		return FILLER_COMPLETE;
	if (!blocks_may_fill(blocks))
		return FILLER_ELSEWHERE;
	return block_store_has_room(filler->params.store, missing) ? FILLER_FILLING
								   : FILLER_NO_ROOM;
}

/* Called with the lock held. */
static void forget_filler(struct block_filler *filler)
{
	struct block_filler **at = &filler->params.fillers->first;

	while (*at && *at != filler)
		at = &(*at)->next;
	if (*at)
		*at = filler->next;
	filler->step = STEP_NONE;
}

/* A reader that finds damage first notes it, then starts the filler. So no damage is lost: either
 * it is noted before this looks, or the reader finds that the filler has ended. Called with the
 * lock held. */
static void end_pass(struct block_filler *filler, enum block_filler_state state)
{
	filler->state = state;
	filler->step = STEP_FETCH;
	filler->due = clock_ns() + AGAIN_NS;
	blocks_give_up_filling(filler->params.blocks);
	if (state == FILLER_COMPLETE && blocks_complete(filler->params.blocks))
		forget_filler(filler);
}

static void begin_pass(struct block_filler *filler)
{
	struct block_fillers *all = filler->params.fillers;
	enum block_filler_state state = look_at_copy(filler);
	int r = 0;

	if (state == FILLER_FILLING)
		r = block_claims_new(filler->params.blocks, true, &filler->claims);
	if (r < 0)
		state = FILLER_FAILED;
	pthread_mutex_lock(&all->workers.lock);
	filler->error = r;
	if (state == FILLER_FILLING) {
		filler->state = state;
		filler->step = STEP_FINISH;
	} else {
		end_pass(filler, state);
	}
	pthread_mutex_unlock(&all->workers.lock);
	if (state == FILLER_FILLING)
		fetch_missing(filler);
}

static bool may_step(const struct block_filler *filler, uint64_t now)
{
	if (filler->stopping)
		return false;
	return filler->step == STEP_FINISH ? filler->under_way == 0 : filler->due <= now;
}

/* What waits longest comes first, and what can be finished before all. Lowers *until to when
 * another may be due. Called with the lock held. */
static struct block_filler *next_filler(const struct block_fillers *all, uint64_t *until)
{
	struct block_filler *best = NULL;
	uint64_t now = clock_ns();

	for (struct block_filler *at = all->first; at; at = at->next) {
		if (!may_step(at, now)) {
			if (at->step == STEP_FETCH)
				*until = min(*until, at->due);
		} else if (!best || at->step > best->step ||
			   (at->step == best->step && at->due < best->due)) {
			best = at;
		}
	}
	return best;
}

/* Called with the lock held. */
static void work_on(struct block_fillers *all, struct block_filler *filler)
{
	enum block_filler_state state = filler->state;
	enum step step = filler->step;
	int error = filler->error;

	filler->busy = true;
	pthread_mutex_unlock(&all->workers.lock);
	if (step == STEP_FINISH)
		state = finish_pass(filler, error);
	else
		begin_pass(filler);
	pthread_mutex_lock(&all->workers.lock);
	if (step == STEP_FINISH)
		end_pass(filler, state);
	filler->busy = false;
	pthread_cond_broadcast(&all->workers.changed);
}

static bool fillers_step(void *context)
{
	struct block_fillers *all = context;
	uint64_t until = clock_ns() + AGAIN_NS;
	struct block_filler *next = all->workers.stopping ? NULL : next_filler(all, &until);

	all->workers.later = until;
	if (next)
		work_on(all, next);
	return next;
}

/* --- beginning and ending --------------------------------------------------------------------- */

void block_fillers_init(struct block_fillers *all)
{
	*all = (struct block_fillers){0};
	workers_init(&all->workers, 1, fillers_step, all);
}

void block_fillers_rest(struct block_fillers *all)
{
	workers_rest(&all->workers);
}

void block_fillers_release(struct block_fillers *all)
{
	workers_release(&all->workers);
}

void block_filler_start(struct block_filler *filler)
{
	struct block_fillers *all = filler->params.fillers;
	int r;

	SCOPE_LOCK(&all->workers.lock);
	if (filler->step != STEP_NONE)
		return;
	r = workers_begin(&all->workers);
	if (r < 0) {
		filler->state = FILLER_FAILED;
		filler->error = r;
		return;
	}
	filler->step = STEP_FETCH;
	filler->due = clock_ns();
	filler->next = all->first;
	all->first = filler;
	pthread_cond_broadcast(&all->workers.changed);
}

void block_filler_rest(struct block_filler *filler)
{
	struct block_fillers *all = filler->params.fillers;

	pthread_mutex_lock(&all->workers.lock);
	filler->stopping = true;
	pthread_cond_broadcast(&all->workers.changed);
	while (filler->busy || filler->under_way)
		pthread_cond_wait(&all->workers.changed, &all->workers.lock);
	forget_filler(filler);
	filler->stopping = false;
	pthread_mutex_unlock(&all->workers.lock);
	drop_claims(filler);
}

enum block_filler_state block_filler_look(struct block_filler *filler, int *ret_error)
{
	SCOPE_LOCK(&filler->params.fillers->workers.lock);
	*ret_error = filler->error;
	return filler->state;
}
