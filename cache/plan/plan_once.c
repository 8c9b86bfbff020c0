/* A shuffled epoch asks for every file once. Whoever reads the files of a pack in the order of
 * the pack, and keeps them until they are asked for, pays for one pass of large reads, however
 * random the order: while a share s of what is left is in memory, a demand finds its file with
 * probability s, and every byte read ahead is used before the epoch ends. Demands that miss are
 * read by themselves, at once; the pass leaves them out.
 *
 * How is it known? CONFIRM extents were asked for, each for the first time, and not by a scan.
 * Where? In blocks of PLAN_BLOCK extents that were asked of at least once: neighbours in the
 * pack are neighbours in the tree, so that a run over train/ reads nothing of val/, and one over
 * 100 classes of 1,000 not much of the others. With B blocks all of them have been found after
 * about B ln B demands, long before the pass comes by. How much? CREDIT times what was
 * asked for: looking at some pictures costs some hundred MiB at most, and an epoch is not held
 * up: CREDIT / (CREDIT + 1) of the pass is done before the readers must have come on.
 *
 * Where a request costs as much as many extents, a demand that misses begins a run as well
 * (plan_once_around): it brings what the pass then leaves out, in the same pieces, so that an
 * epoch takes no more requests than the pass alone.
 *
 * Shared storage is others' too, and which share of the files this node wants cannot be seen: one
 * of 16 ranks and a reader of everything ask alike. There a block is read to its end when
 * 4/5 of it were asked for, so that at most 5/4 of what is wanted is ever read.
 *
 * Where the pool is what remembers (epochs), an epoch ends when demands for what was asked for
 * before outweigh the others by REPEATS. The next one is read ahead as well if
 * this one has asked for nearly all of its blocks: a sampler that draws with replacement ends
 * its "epochs" at a half, and is left alone.
 *
 * A preload reads each extent once, however many epochs the readers go through meanwhile. Where
 * memory does not suffice it goes on for the rest of that epoch, in the room of what readers are
 * done with. In the next one they want that again, and the preload is over. */
#include "cache/plan/plan_once.h"
#include "base/bits.h"
#include "cache/plan/plan_run.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CONFIRM 16
#define CREDIT	64
#define REPEATS 32

int plan_once_init(struct plan_once *once, const struct plan_params *params)
{
	uint64_t extents = params->view.extents;

	*once = (struct plan_once){
		.block_count = (extents + PLAN_BLOCK - 1) / PLAN_BLOCK,
		.shared = params->shared,
		.epochs = params->epochs,
		.armed = true,
	};
	once->blocks = calloc(once->block_count + 1, sizeof(*once->blocks));
	once->asked = calloc(1, extents / 8 + 1);
	once->planned = calloc(1, extents / 8 + 1);
	if (once->blocks && once->asked && once->planned)
		return 0;
	plan_once_release(once);
	return -ENOMEM;
}

void plan_once_release(struct plan_once *once)
{
	free(once->blocks);
	free(once->asked);
	free(once->planned);
	*once = (struct plan_once){0};
}

static uint64_t block_size(const struct plan_view *view, uint64_t block)
{
	uint64_t left = view->extents - block * PLAN_BLOCK;

	return left < PLAN_BLOCK ? left : PLAN_BLOCK;
}

/* Whether all that is in the block will be wanted. */
static bool promising(const struct plan_once *once, const struct plan_view *view, uint64_t block)
{
	uint64_t asked = once->blocks[block].asked;

	if (once->preload)
		return true;
	return once->shared ? asked * 5 >= block_size(view, block) * 4 : asked > 0;
}

/* --- demands --------------------------------------------------------------------------------- */

static uint16_t asked_in(const struct plan_once *once, const struct plan_view *view, uint64_t block)
{
	uint64_t first = block * PLAN_BLOCK;
	uint16_t count = 0;

	for (uint64_t at = first; at < first + block_size(view, block); at++)
		count += bit_get(once->asked, at);
	return count;
}

/* Nobody asks for them, but would. */
static uint16_t kept_in(const struct plan_once *once, const struct plan_view *view, uint64_t block)
{
	uint64_t first = block * PLAN_BLOCK;
	uint16_t count = 0;

	for (uint64_t at = first; at < first + block_size(view, block); at++)
		if (!bit_get(once->asked, at) && plan_is_kept(view, at))
			count++;
	return count;
}

/* Whether nearly all was asked for in the blocks that were asked of. */
static bool epoch_was_whole(const struct plan_once *once, const struct plan_view *view)
{
	uint64_t touched = 0, distinct = 0;

	for (uint64_t block = 0; block < once->block_count; block++) {
		uint64_t asked = asked_in(once, view, block);

		if (asked == 0)
			continue;
		distinct += asked + kept_in(once, view, block);
		touched += block_size(view, block);
	}
	return distinct * 10 >= touched * 9;
}

static bool all_is_known(const struct plan_once *once, const struct plan_view *view)
{
	for (uint64_t block = 0; block < once->block_count; block++)
		if (once->blocks[block].known < block_size(view, block))
			return false;
	return true;
}

/* Or the readers' next epoch wants it again. */
static bool all_asked_is_there(const struct plan_once *once, const struct plan_view *view)
{
	for (uint64_t i = 0; i < view->extents; i++)
		if (bit_get(once->asked, i) && !view->have(view->context, i) &&
		    !plan_is_kept(view, i))
			return false;
	return true;
}

/* What was asked for need not be preloaded, as what was planned. */
static void keep_planned(struct plan_once *once, const struct plan_view *view)
{
	for (uint64_t i = 0; i < view->extents / 8 + 1; i++)
		once->planned[i] |= once->asked[i];
	for (uint64_t block = 0; block < once->block_count; block++)
		once->blocks[block].asked = 0;
	once->ahead += once->bytes;
}

static void forget_planned(struct plan_once *once, const struct plan_view *view)
{
	memset(once->blocks, 0, once->block_count * sizeof(*once->blocks));
	memset(once->planned, 0, view->extents / 8 + 1);
	once->cursor = once->ahead = 0;
	once->preload = once->exhausted = once->full = false;
}

static void next_epoch(struct plan_once *once, const struct plan_view *view)
{
	once->armed = epoch_was_whole(once, view);
	if (once->preload && !once->full && !all_is_known(once, view) &&
	    all_asked_is_there(once, view))
		keep_planned(once, view);
	else
		forget_planned(once, view);
	memset(once->asked, 0, view->extents / 8 + 1);
	once->scattered = once->bytes = 0;
	once->repeats = 0;
	once->epoch++;
}

static void count_repeat(struct plan_once *once, const struct plan_view *view, bool repeat)
{
	if (repeat)
		once->repeats++;
	else if (once->repeats)
		once->repeats--;
	if (once->epochs && once->repeats == REPEATS)
		next_epoch(once, view);
}

bool plan_once_count(struct plan_once *once, const struct plan_view *view, uint64_t extent)
{
	count_repeat(once, view, bit_get(once->asked, extent));
	if (bit_get(once->asked, extent))
		return false;
	bit_set(once->asked, extent);
	if (bit_get(once->planned, extent))
		once->ahead -= plan_size(view, extent);
	else
		once->blocks[extent / PLAN_BLOCK].known++;
	return true;
}

void plan_once_demand(struct plan_once *once, const struct plan_view *view, uint64_t extent,
		      bool scan)
{
	struct plan_block *block = &once->blocks[extent / PLAN_BLOCK];
	bool promised;

	if (!plan_once_count(once, view, extent))
		return;
	promised = promising(once, view, extent / PLAN_BLOCK);
	if (once->shared && block->asked == 0)
		block->asked = kept_in(once, view, extent / PLAN_BLOCK);
	block->asked++;
	once->bytes += plan_size(view, extent);
	once->scattered += !scan;
	if (!promised && promising(once, view, extent / PLAN_BLOCK))
		once->exhausted = false;
}

void plan_once_restart(struct plan_once *once, const struct plan_view *view)
{
	if (once->preload)
		return;
	for (uint64_t b = 0; b < once->block_count; b++)
		once->blocks[b] = (struct plan_block){.known = asked_in(once, view, b)};
	memset(once->planned, 0, view->extents / 8 + 1);
	once->cursor = once->scattered = once->bytes = once->ahead = 0;
	once->exhausted = false;
}

void plan_once_preload(struct plan_once *once)
{
	once->preload = true;
	once->exhausted = once->full = false;
}

/* --- runs ------------------------------------------------------------------------------------ */

static void mark_planned(struct plan_once *once, uint64_t extent)
{
	bit_set(once->planned, extent);
	once->blocks[extent / PLAN_BLOCK].known++;
}

static bool known(const struct plan_once *once, uint64_t extent)
{
	return bit_get(once->asked, extent) || bit_get(once->planned, extent);
}

static bool worth_a_look(const struct plan_once *once, const struct plan_view *view, uint64_t block)
{
	return once->blocks[block].known < block_size(view, block) && promising(once, view, block);
}

/* The first extent from `at` on that is to be read, or view->extents. */
static uint64_t seek(struct plan_once *once, const struct plan_view *view, uint64_t at)
{
	while (at < view->extents) {
		if (!worth_a_look(once, view, at / PLAN_BLOCK)) {
			at = (at / PLAN_BLOCK + 1) * PLAN_BLOCK;
			continue;
		}
		if (!known(once, at)) {
			if (!view->have(view->context, at))
				return at;
			mark_planned(once, at);
			once->ahead += plan_size(view, at);
		}
		at++;
	}
	return view->extents;
}

static uint64_t credit(const struct plan_once *once)
{
	if (once->preload || once->shared)
		return UINT64_MAX;
	if (!once->armed || once->scattered < CONFIRM || once->ahead >= CREDIT * once->bytes)
		return 0;
	return CREDIT * once->bytes - once->ahead;
}

/* Less than the room for a long run is no room: it would be filled by many short ones. */
bool plan_once_wants(const struct plan_once *once, const struct plan_limits *limits)
{
	return !once->exhausted && (once->preload || !limits->no_pass) &&
	       limits->once >= limits->run && credit(once) >= limits->run;
}

/* The extents of its block that are read together with one. */
static struct plan_cut cut_around(const struct plan_view *view, const struct plan_limits *limits,
				  uint64_t extent)
{
	uint64_t block = extent / PLAN_BLOCK, first = block * PLAN_BLOCK;
	struct plan_cut all = {.first = first, .end = first + block_size(view, block)};

	return plan_cut_around(view, limits, NULL, all, extent);
}

/* A gap too long to read through divides what lies around: the part with the extent counts. */
bool plan_once_around(struct plan_once *once, const struct plan_view *view,
		      const struct plan_limits *limits, uint64_t extent, struct plan_run *ret)
{
	struct plan_run_builder builder = plan_run_begin(view, limits, limits->once, ret);
	struct plan_cut cut;

	if (!plan_once_wants(once, limits) || !promising(once, view, extent / PLAN_BLOCK))
		return false;
	cut = cut_around(view, limits, extent);
	for (uint64_t at = cut.first; at < cut.end; at++) {
		if (at != extent && (known(once, at) || view->have(view->context, at)))
			continue;
		if (plan_run_add(&builder, at))
			continue;
		if (at > extent)
			break;
		builder = plan_run_begin(view, limits, limits->once, ret);
		if (!plan_run_add(&builder, at) && at == extent)
			return false;
	}
	for (unsigned i = 0; i < ret->count; i++)
		if (ret->extents[i] != extent)
			mark_planned(once, ret->extents[i]);
	once->ahead += ret->bytes - plan_size(view, extent);
	return ret->count > 1;
}

bool plan_once_next(struct plan_once *once, const struct plan_view *view,
		    const struct plan_limits *limits, struct plan_run *ret)
{
	struct plan_run_builder builder = plan_run_begin(view, limits, limits->once, ret);
	struct plan_cut cut = {0};
	uint64_t at;

	once->full |= limits->once < limits->run;
	if (!plan_once_wants(once, limits))
		return false;
	at = seek(once, view, once->cursor);
	if (at == view->extents)
		at = seek(once, view, 0);
	once->exhausted = at == view->extents;
	if (!once->exhausted)
		cut = cut_around(view, limits, at);
	while (at < cut.end && plan_run_add(&builder, at)) {
		mark_planned(once, at);
		at = seek(once, view, at + 1);
	}
	once->ahead += ret->bytes;
	once->cursor = at;
	return ret->count > 0;
}
