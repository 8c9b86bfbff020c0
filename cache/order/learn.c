/* DataLoader deals batches out in turn: of W workers, the k-th file of worker w has the place
 *
 *	(k / B * W + w) * B + k % B		in batches of B
 *
 * W is known, as are the files that each has read, m in all: from m, W and B follows how many
 * these are, which leaves few B. Which reader is worker w: they begin in turn, and their ids rise.
 *
 * A pair of passes, of the first epoch and of the next one, is tried for all deals at once: the
 * places in the first permutation (its inverse) of what the next one has first, and whether what
 * lies there by the deal was seen. That takes one permutation for the first pass, n steps, and
 * a head for each that may follow, so that with an epoch of 1,000,000 some hundreds of first passes
 * can be tried, the likeliest, and with 10,000 all of them.
 *
 * Deals of W workers agree on up to half of the places (B and B / 2): the deal that goes furthest
 * is taken, if there is one.
 *
 * drop_last leaves out up to B - 1 indices, others in each epoch: n is more than m then. They are
 * unknown until the list is learned anew, and foreseen by nobody.
 *
 * Not tried: ranks, since which worker is whose is not known; seeds that come from far behind
 * in the stream of a generator (after the initial weights of a model), where each would take a
 * permutation. Readers of another namespace are one reader, and cannot be told apart. */
#include "cache/order/learn.h"
#include "base/bits.h"
#include "base/scope.h"
#include "cache/order/pass_internal.h"
#include <stdlib.h>
#include <string.h>

#define FILES_MIN 64 /* of an epoch */
#define BATCH_MAX 1024
#define DEALS	  128
#define TRIED	  1e6	       /* pairs of passes */
#define SAME_MIN  16	       /* files, by which an order is the same again */
#define RISING	  0.9	       /* of files lie behind the one before: a scan */
#define STEPS	  (150u << 20) /* of a generator in each round: a second or two */
#define HEAD	  1500	       /* steps that the seeding for a head is worth */
#define NEAR	  8	       /* words that may follow, where many passes are tried */
#define SEEDS	  1024	       /* from 0 on: seed + epoch */
#define FEW_SEEDS 16
#define FEW_ROOTS 8
#define DROPPED	  256
#define NOTHING	  UINT32_MAX

/* How the places were dealt to the workers. */
struct deal {
	uint32_t batch;
	bool full;  /* the last batch as well: others may have been left out */
	bool by_id; /* which reader is which worker */
};

struct lesson {
	const struct history_epoch *epoch;
	const struct guess_hooks *hooks;
	unsigned workers[2][HISTORY_READERS]; /* readers: as they began, by id */
	struct deal deals[DEALS];
	unsigned deal_count;
	uint8_t *seen, *firsts; /* a bit for each of epoch->files: what is asked for now */
	uint32_t seen_count, first_count;
	uint32_t longest;	  /* beginning */
	unsigned depth;		  /* files that are enough */
	uint32_t n;		  /* the index has: the epoch's files, or with what was left out */
	uint32_t *order, *places; /* of the first pass, and where in it each index is */
	uint64_t steps;
	unsigned most; /* passes that are tried after each */
	bool streams;  /* instead of words and seeds */
	bool found;
	struct deal deal;
	struct pass now;
};

/* --- how the files were dealt ---------------------------------------------------------------- */

static uint32_t files_of(const struct lesson *lesson, unsigned reader)
{
	return lesson->epoch->starts[reader + 1] - lesson->epoch->starts[reader];
}

/* How many files worker w has. */
static uint32_t share_of(uint32_t count, uint32_t workers, uint32_t batch, uint32_t w)
{
	uint32_t batches = (count + batch - 1) / batch;
	uint32_t own = batches / workers + (w < batches % workers);

	if (own && (batches - 1) % workers == w)
		return own * batch - (batches * batch - count);
	return own * batch;
}

static bool deal_fits(const struct lesson *lesson, uint32_t batch, bool by_id)
{
	const struct history_epoch *epoch = lesson->epoch;

	for (unsigned w = 0; w < epoch->readers; w++)
		if (share_of(epoch->count, epoch->readers, batch, w) !=
		    files_of(lesson, lesson->workers[by_id][w]))
			return false;
	return true;
}

static void add_deals(struct lesson *lesson, bool by_id)
{
	uint32_t count = lesson->epoch->count;

	for (uint32_t batch = 1; batch <= BATCH_MAX && batch < count; batch++)
		if (lesson->deal_count < DEALS && deal_fits(lesson, batch, by_id))
			lesson->deals[lesson->deal_count++] = (struct deal){
				.batch = batch, .full = count % batch == 0, .by_id = by_id};
}

static void sort_by_id(const struct history_epoch *epoch, unsigned *workers)
{
	for (unsigned i = 1; i < epoch->readers; i++)
		for (unsigned at = i;
		     at > 0 && epoch->ids[workers[at]] < epoch->ids[workers[at - 1]]; at--) {
			unsigned was = workers[at];

			workers[at] = workers[at - 1];
			workers[at - 1] = was;
		}
}

/* A lone reader has all places in order, whatever its batches. */
static void find_deals(struct lesson *lesson)
{
	unsigned readers = lesson->epoch->readers;

	for (unsigned w = 0; w < readers; w++)
		lesson->workers[0][w] = lesson->workers[1][w] = w;
	if (readers == 1) {
		lesson->deals[lesson->deal_count++] =
			(struct deal){.batch = lesson->epoch->count, .full = true};
		return;
	}
	sort_by_id(lesson->epoch, lesson->workers[1]);
	add_deals(lesson, false);
	if (memcmp(lesson->workers[0], lesson->workers[1], readers * sizeof(unsigned)) != 0)
		add_deals(lesson, true);
}

/* Which of the epoch's files has a place. */
static uint32_t file_at(const struct lesson *lesson, const struct deal *deal, uint32_t place)
{
	uint32_t batch = place / deal->batch, readers = lesson->epoch->readers;
	unsigned reader = lesson->workers[deal->by_id][batch % readers];

	return lesson->epoch->starts[reader] + batch / readers * deal->batch + place % deal->batch;
}

/* --- what is asked for now ------------------------------------------------------------------- */

static int by_file(const void *a, const void *b)
{
	const struct watch_access *left = a, *right = b;

	if (left->file != right->file)
		return left->file < right->file ? -1 : 1;
	return (left->nth > right->nth) - (left->nth < right->nth);
}

/* The first file of a program may have been a look at the data, so that two count as first. */
static void mark(struct lesson *lesson, uint32_t at, const struct watch_access *access)
{
	bit_set(lesson->seen, at);
	lesson->seen_count++;
	if (access->nth >= lesson->longest)
		lesson->longest = access->nth + 1;
	if (access->nth > 1)
		return;
	bit_set(lesson->firsts, at);
	lesson->first_count++;
}

static const struct watch_access *find_access(const struct watch_access *sorted, unsigned count,
					      uint32_t file)
{
	unsigned from = 0, end = count;

	while (from < end) {
		unsigned middle = from + (end - from) / 2;

		if (sorted[middle].file < file)
			from = middle + 1;
		else
			end = middle;
	}
	return from < count && sorted[from].file == file ? &sorted[from] : NULL;
}

static void mark_seen(struct lesson *lesson)
{
	const struct history_epoch *epoch = lesson->epoch;

	qsort(epoch->now, epoch->now_count, sizeof(*epoch->now), by_file);
	for (uint32_t at = 0; at < epoch->count; at++) {
		const struct watch_access *access =
			find_access(epoch->now, epoch->now_count, epoch->files[at]);

		if (access)
			mark(lesson, at, access);
	}
}

/* The least depth at which chance is out of the question; 0: not yet. */
static unsigned depth_for(const struct lesson *lesson, double tried)
{
	double count = lesson->epoch->count;
	double chance = tried * lesson->deal_count * lesson->first_count / count;

	for (unsigned depth = 1; depth <= lesson->longest && depth <= WATCH_RUN; depth++) {
		if (chance < GUESS_ODDS && depth > 1)
			return depth;
		chance *= lesson->seen_count / count;
	}
	return 0;
}

/* Whoever reads in order needs no oracle. */
static bool is_scan(const struct history_epoch *epoch)
{
	uint32_t rising = 0;

	for (uint32_t i = 1; i < epoch->count; i++)
		rising += epoch->files[i] > epoch->files[i - 1];
	return rising > RISING * epoch->count;
}

/* --- pairs of passes ------------------------------------------------------------------------- */

static bool may_leave_out(const struct lesson *lesson, const struct deal *deal)
{
	uint32_t dropped = lesson->n - lesson->epoch->count;

	return dropped == 0 || (deal->full && dropped < deal->batch);
}

/* How many of the first indices of the present pass were seen, as the first of all must be. What
 * was left out of the first epoch says nothing. */
static unsigned came(const struct lesson *lesson, const struct deal *deal, const uint32_t *head,
		     unsigned count)
{
	const uint8_t *wanted = lesson->firsts;
	unsigned matched = 0;

	for (unsigned i = 0; i < count; i++) {
		uint32_t place = lesson->places[head[i]];

		if (place >= lesson->epoch->count)
			continue;
		if (!bit_get(wanted, file_at(lesson, deal, place)))
			break;
		wanted = lesson->seen;
		matched++;
	}
	return matched;
}

/* The deal by which most of them came: the only one by which enough did. */
static bool choose_deal(struct lesson *lesson, const struct pass *now)
{
	uint32_t head[PASS_BEGIN];
	unsigned count = pass_begin(now, lesson->n, head, PASS_BEGIN), most = 0, next = 0;

	for (unsigned i = 0; i < lesson->deal_count; i++) {
		unsigned matched = may_leave_out(lesson, &lesson->deals[i])
					   ? came(lesson, &lesson->deals[i], head, count)
					   : 0;

		if (matched > most) {
			next = most;
			most = matched;
			lesson->deal = lesson->deals[i];
		} else if (matched > next) {
			next = matched;
		}
	}
	return most >= lesson->depth && most > next;
}

static bool try_pair(struct lesson *lesson, const struct pass *now)
{
	uint32_t head[2];
	unsigned count = pass_begin(now, lesson->n, head, 2);

	lesson->steps += HEAD + (now->maker == PASS_TORCH ? now->skip / 4 : lesson->n);
	for (unsigned i = 0; i < lesson->deal_count; i++) {
		if (came(lesson, &lesson->deals[i], head, count) == 0 || !choose_deal(lesson, now))
			continue;
		lesson->now = *now;
		lesson->found = true;
		return true;
	}
	return false;
}

static bool set_order(struct lesson *lesson, const struct pass *pass)
{
	lesson->steps += lesson->n + pass->skip / 4;
	if (pass_order(pass, lesson->n, lesson->order) != lesson->n)
		return false;
	for (uint32_t place = 0; place < lesson->n; place++)
		lesson->places[lesson->order[place]] = place;
	return true;
}

/* As pass_try_fn: true to end. */
static bool try_pass(struct lesson *lesson, const struct pass *pass)
{
	struct pass next[PASS_NEXT];
	unsigned count = pass_next(pass, lesson->n, next), tried = 0;

	if (!set_order(lesson, pass))
		return false;
	for (unsigned i = 0; i < count && tried < lesson->most; i++) {
		if ((next[i].rule == PASS_STREAM) != lesson->streams || next[i].rule == PASS_SAME)
			continue;
		tried++;
		if (try_pair(lesson, &next[i]))
			return true;
	}
	return lesson->steps > STEPS || lesson->hooks->stopped(lesson->hooks->context);
}

/* --- rounds, the likeliest first ------------------------------------------------------------- */

static struct pass word_of(uint32_t root, uint64_t word)
{
	struct mt19937 mt;

	mt19937_init(&mt, root);
	mt19937_skip(&mt, word);
	return (struct pass){
		.rule = PASS_WORDS, .seed = mt19937_next(&mt), .root = root, .word = word};
}

/* What DataLoader draws under manual_seed, after its base_seed or before, or a sampler's seed. */
static bool try_root(struct lesson *lesson, uint32_t root)
{
	const struct pass after = word_of(root, 3), before = word_of(root, 1), own = {.seed = root};

	return try_pass(lesson, &after) || try_pass(lesson, &own) || try_pass(lesson, &before);
}

static bool try_roots(struct lesson *lesson, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (try_root(lesson, pass_popular[i]))
			return true;
	return false;
}

static bool try_seeds(struct lesson *lesson, uint32_t from, uint32_t end)
{
	for (uint32_t seed = from; seed < end; seed++)
		if (try_pass(lesson, &(struct pass){.seed = seed}))
			return true;
	return false;
}

/* Whatever the order is, it is the same again: any seed will do. Several workers would do the same
 * by any deal. */
static void try_same(struct lesson *lesson)
{
	const struct pass same = {.rule = PASS_SAME};

	if (lesson->epoch->readers > 1)
		return;
	lesson->depth = depth_for(lesson, 1);
	if (lesson->depth && lesson->depth < SAME_MIN)
		lesson->depth = SAME_MIN;
	if (lesson->depth && lesson->depth <= lesson->longest && set_order(lesson, &same))
		try_pair(lesson, &same);
}

static void try_likely(struct lesson *lesson)
{
	lesson->most = PASS_NEXT;
	if (!try_roots(lesson, PASS_ROOTS))
		try_seeds(lesson, 0, FEW_SEEDS);
}

static void try_small_seeds(struct lesson *lesson)
{
	lesson->most = 1;
	try_seeds(lesson, FEW_SEEDS, SEEDS);
}

static bool try_root_dropped(struct lesson *lesson, uint32_t root)
{
	uint32_t count = lesson->epoch->count;

	for (lesson->n = count + 1; lesson->n < count + DROPPED; lesson->n++)
		if (try_root(lesson, root))
			return true;
	return false;
}

static void try_dropped(struct lesson *lesson)
{
	lesson->most = 3;
	for (unsigned i = 0; i < FEW_ROOTS; i++)
		if (try_root_dropped(lesson, pass_popular[i]))
			break;
	if (!lesson->found)
		lesson->n = lesson->epoch->count;
}

static bool try_stream(void *arg, const struct pass *pass)
{
	return pass->rule == PASS_STREAM && try_pass(arg, pass);
}

static void try_streams(struct lesson *lesson)
{
	lesson->most = PASS_NEXT;
	lesson->streams = true;
	if (!try_roots(lesson, FEW_ROOTS))
		pass_each_known(try_stream, lesson);
	lesson->streams = false;
}

static void try_far_streams(struct lesson *lesson)
{
	lesson->streams = true;
	pass_each_far(lesson->n, try_stream, lesson);
	lesson->streams = false;
}

static bool try_other(void *arg, const struct pass *pass)
{
	return pass->rule != PASS_STREAM && !pass_is_dino(pass) && try_pass(arg, pass);
}

static void try_others(struct lesson *lesson)
{
	lesson->most = NEAR;
	pass_each_known(try_other, lesson);
}

static void try_all(struct lesson *lesson)
{
	static void (*const rounds[])(struct lesson *) = {try_likely,  try_small_seeds, try_dropped,
							  try_streams, try_far_streams, try_others};

	try_same(lesson);
	lesson->depth = depth_for(lesson, TRIED);
	for (unsigned i = 0; lesson->depth && i < sizeof(rounds) / sizeof(*rounds); i++) {
		if (lesson->found || lesson->hooks->stopped(lesson->hooks->context))
			return;
		lesson->steps = 0;
		rounds[i](lesson);
	}
}

/* --- all of it ------------------------------------------------------------------------------- */

static int make_list(const struct lesson *lesson, struct order_list **ret)
{
	uint32_t *files = lesson->places; /* not needed any more */

	for (uint32_t place = 0; place < lesson->n; place++)
		files[lesson->order[place]] =
			place < lesson->epoch->count
				? lesson->epoch->files[file_at(lesson, &lesson->deal, place)]
				: ORDER_NONE;
	return order_list_new("an index learned from the first epoch", files, lesson->n, ret);
}

static bool learn_from(struct lesson *lesson, struct order_list **ret_list, struct course *ret)
{
	find_deals(lesson);
	mark_seen(lesson);
	if (lesson->deal_count == 0 || lesson->first_count == 0)
		return false;
	try_all(lesson);
	if (!lesson->found || make_list(lesson, ret_list) < 0)
		return false;
	*ret = (struct course){.list = *ret_list, .pass = lesson->now, .epoch = 1};
	return true;
}

static bool learn_epoch(const struct history_epoch *epoch, const struct guess_hooks *hooks,
			struct order_list **ret_list, struct course *ret)
{
	size_t bits = epoch->count / 8 + 1;
	size_t bytes = ((size_t)epoch->count + DROPPED) * sizeof(uint32_t);
	SCOPE_FREE uint8_t *seen = calloc(1, bits);
	SCOPE_FREE uint8_t *firsts = calloc(1, bits);
	SCOPE_FREE uint32_t *order = malloc(bytes);
	SCOPE_FREE uint32_t *places = malloc(bytes);
	SCOPE_FREE struct lesson *lesson = calloc(1, sizeof(*lesson));

	if (!seen || !firsts || !order || !places || !lesson)
		return false;
	*lesson = (struct lesson){.epoch = epoch,
				  .hooks = hooks,
				  .seen = seen,
				  .firsts = firsts,
				  .n = epoch->count,
				  .order = order,
				  .places = places};
	return learn_from(lesson, ret_list, ret);
}

bool learn(const struct history *history, const struct watch_access *begun, unsigned count,
	   const struct guess_hooks *hooks, struct order_list **ret_list, struct course *ret)
{
	struct history_epoch epoch;
	bool found;

	if (!history_epoch(history, begun, count, &epoch))
		return false;
	found = epoch.count >= FILES_MIN && !is_scan(&epoch) &&
		learn_epoch(&epoch, hooks, ret_list, ret);
	history_epoch_release(&epoch);
	return found;
}
