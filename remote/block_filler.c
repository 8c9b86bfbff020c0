#include "remote/block_filler.h"
#include "base/clock.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "remote/block_parts.h"

#define PIECE	  (4 * MIB) /* of one request; 24 of them bring 880 MB/s at 30 ms and 50 MB/s each */
#define UNDER_WAY 24
#define AGAIN	  (2 * CLOCK_SECOND) /* between two passes */

struct block_filler {
	struct block_filler_params params;
	pthread_t thread;

	pthread_mutex_t lock;
	pthread_cond_t changed;	       /* what follows, all protected by lock: */
	bool started, ended, stopping; /* the thread exists; it has ended; it is to end */
	unsigned under_way;
	int error;	  /* the last one of this pass */
	bool passed_over; /* others fetch some of what this pass needs; the thread's own */
	enum block_filler_state state;
};

int block_filler_new(const struct block_filler_params *params, struct block_filler **ret)
{
	struct block_filler *filler = calloc(1, sizeof(*filler));

	if (!filler)
		return -ENOMEM;
	filler->params = *params;
	pthread_mutex_init(&filler->lock, NULL);
	clock_cond_init(&filler->changed);
	*ret = filler;
	return 0;
}

void block_filler_free(struct block_filler *filler)
{
	if (!filler)
		return;
	block_filler_rest(filler);
	pthread_cond_destroy(&filler->changed);
	pthread_mutex_destroy(&filler->lock);
	free(filler);
}

static void note_error(struct block_filler *filler, int error)
{
	SCOPE_LOCK(&filler->lock);
	filler->error = error;
}

/* --- one request ------------------------------------------------------------------------------ */

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
	block_writer_put(filler->params.writer, fetch->piece);
	free(fetch);
	SCOPE_LOCK(&filler->lock);
	filler->under_way--;
	if (error)
		filler->error = error;
	pthread_cond_broadcast(&filler->changed);
}

static int fetch_piece(struct block_filler *filler, struct block_piece *piece)
{
	struct fetch *fetch = calloc(1, sizeof(*fetch));

	if (!fetch) {
		piece->len = 0;
		block_writer_put(filler->params.writer, piece);
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

/* Waits until one more request may be under way. False: the pass ends. */
static bool take_place(struct block_filler *filler)
{
	SCOPE_LOCK(&filler->lock);
	while (filler->under_way >= UNDER_WAY && !filler->stopping)
		pthread_cond_wait(&filler->changed, &filler->lock);
	if (filler->stopping || filler->error)
		return false;
	filler->under_way++;
	return true;
}

static void give_place(struct block_filler *filler)
{
	SCOPE_LOCK(&filler->lock);
	filler->under_way--;
	pthread_cond_broadcast(&filler->changed);
}

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

/* The writer gives no memory if it may not write, either: its own stats say that. */
static void note_no_piece(struct block_filler *filler)
{
	struct block_writer_stats stats;

	block_writer_stats(filler->params.writer, &stats);
	if (!stats.full && !stats.failed)
		note_error(filler, -ENOMEM);
}

/* Fetches pages that are claimed. */
static bool fetch_claimed(struct block_filler *filler, uint64_t begin, uint64_t end)
{
	const struct block_filler_params *params = &filler->params;
	uint64_t size = blocks_size(params->blocks);
	struct block_piece *piece =
		block_writer_take(params->writer, min(end, size) - begin, begin, true);

	if (!piece) {
		note_no_piece(filler);
		block_claims_drop(params->claims, begin, end);
		return false;
	}
	piece->claims = params->claims;
	return fetch_piece(filler, piece) == 0;
}

/* Fetches from `begin` to *end, which it lowers to the first page that somebody else fetches.
 * Returns whether to go on. */
static bool fetch_run(struct block_filler *filler, uint64_t begin, uint64_t *end)
{
	bool fetched;

	if (!take_place(filler))
		return false;
	if (!block_claims_take(filler->params.claims, true, begin, *end, end)) {
		filler->passed_over = true;
		give_place(filler);
		return true;
	}
	fetched = fetch_claimed(filler, begin, *end);
	if (!fetched)
		give_place(filler);
	return fetched;
}

static int wait_for_all(struct block_filler *filler)
{
	SCOPE_LOCK(&filler->lock);
	while (filler->under_way)
		pthread_cond_wait(&filler->changed, &filler->lock);
	return filler->error;
}

/* Goes through the pack once. Returns the last error. */
static int fill_once(struct block_filler *filler)
{
	struct blocks *blocks = filler->params.blocks;
	uint64_t end = pages_end(blocks_size(blocks));
	uint64_t at = 0, begin;
	bool goes_on = true;
	int r;

	filler->passed_over = false;
	while (goes_on && find_missing(blocks, at, end, &begin, &at))
		goes_on = fetch_run(filler, begin, &at);
	r = wait_for_all(filler);
	block_writer_drain(filler->params.writer);
	if (!goes_on || r < 0 || find_missing(blocks, 0, end, &begin, &at))
		return r;
	blocks_set_complete(blocks);
	/* A reader may have found damage meanwhile. */
	if (find_missing(blocks, 0, end, &begin, &at))
		blocks_forget(blocks, begin, at - begin);
	return 0;
}

/* --- the thread ------------------------------------------------------------------------------- */

/* Whoever finds damage starts the filler after it was noted: either this sees that the copy is not
 * complete any more, or that one sees that the thread has ended. Returns whether it has. */
static bool set_filler_state(struct block_filler *filler, enum block_filler_state state)
{
	SCOPE_LOCK(&filler->lock);
	filler->state = state;
	filler->ended = state == FILLER_COMPLETE && blocks_complete(filler->params.blocks);
	pthread_cond_broadcast(&filler->changed);
	return filler->ended;
}

static bool has_room(const struct block_filler *filler)
{
	uint64_t size = blocks_size(filler->params.blocks);
	uint64_t used = blocks_used(filler->params.blocks);

	return block_store_has_room(filler->params.store, sub_sat(size, used));
}

/* Returns the state after it. */
static enum block_filler_state fill(struct block_filler *filler)
{
	struct blocks *blocks = filler->params.blocks;
	int r;

	if (blocks_see_complete(blocks))
		return FILLER_COMPLETE;
	if (!blocks_may_fill(blocks))
		return FILLER_ELSEWHERE;
	if (!has_room(filler))
		return FILLER_NO_ROOM;
	set_filler_state(filler, FILLER_FILLING);
	r = fill_once(filler);
	if (blocks_complete(blocks))
		return FILLER_COMPLETE;
	return r == 0 && filler->passed_over ? FILLER_ELSEWHERE : FILLER_FAILED;
}

/* False: the thread ends. */
static bool wait_to_go_on(struct block_filler *filler)
{
	const struct timespec until = clock_after(AGAIN);

	SCOPE_LOCK(&filler->lock);
	while (!filler->stopping &&
	       pthread_cond_timedwait(&filler->changed, &filler->lock, &until) == 0)
		;
	filler->error = 0;
	return !filler->stopping;
}

static void *filler_thread(void *arg)
{
	struct block_filler *filler = arg;

	while (!set_filler_state(filler, fill(filler)) && wait_to_go_on(filler))
		;
	return NULL;
}

void block_filler_start(struct block_filler *filler)
{
	int r;

	SCOPE_LOCK(&filler->lock);
	if (filler->started && !filler->ended)
		return;
	if (filler->started)
		pthread_join(filler->thread, NULL);
	filler->ended = false;
	r = -pthread_create(&filler->thread, NULL, filler_thread, filler);
	filler->started = r == 0;
	if (r < 0) {
		filler->state = FILLER_FAILED;
		filler->error = r;
	}
}

void block_filler_rest(struct block_filler *filler)
{
	bool started;

	pthread_mutex_lock(&filler->lock);
	started = filler->started;
	filler->stopping = true;
	pthread_cond_broadcast(&filler->changed);
	pthread_mutex_unlock(&filler->lock);
	if (started)
		pthread_join(filler->thread, NULL);
	filler->started = filler->ended = filler->stopping = false;
}

enum block_filler_state block_filler_look(struct block_filler *filler, int *ret_error)
{
	SCOPE_LOCK(&filler->lock);
	*ret_error = filler->error;
	return filler->state;
}
