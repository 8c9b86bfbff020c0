/* A shuffled epoch asks for every file once. Reading the pack in its own order, and keeping each
 * file until it is asked for, costs one sweep of large reads, however random the order: while a
 * share s of what is left is in memory, a demand finds its file with probability s, and every byte
 * read ahead is used before the epoch ends. A demand that misses is read by itself, at once; the
 * sweep leaves it out.
 *
 * When? After CONFIRM extents were asked for, each for the first time, and not by a scan. Where? In
 * blocks of PLAN_BLOCK extents of which at least one was asked for: neighbours in the pack are
 * neighbours in the tree, so a run over train/ reads nothing of val/, and one over 100 of 1,000
 * classes not much of the others. With B blocks, all are found after about B ln B demands, long
 * before the sweep comes by. How much? CREDIT times what was asked for: looking at some pictures
 * costs some hundred MiB at most, and an epoch is not held up, since CREDIT / (CREDIT + 1) of it
 * may be read before the readers must have gone on.
 *
 * Where a request costs as much as many extents, a demand that misses also begins a run
 * (plan_sweep_around), which the sweep leaves out: an epoch takes hardly more requests than the
 * sweep alone (elevator.h).
 *
 * Shared storage also serves others, and which share of the files this node wants cannot be seen:
 * one of 16 ranks and a reader of everything ask alike. There a block is finished when 4/5 of it
 * were asked for, so that at most 5/4 of what is wanted is ever read.
 *
 * If the pool is what remembers (epochs), an epoch ends when demands for what was asked for before
 * outnumber the others by REPEATS. The next one is read ahead as well if this one asked for nearly
 * all of its blocks: a sampler that draws with replacement ends its "epochs" halfway, and gets no
 * sweep. */
#include "cache/plan/plan_sweep.h"
#include "base/bits.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CONFIRM 8
#define CREDIT	96
#define REPEATS 32
#define SAMPLE	256 /* blocks that are looked at where all would take long, for the cache waits */

void plan_sweep_release(struct plan_sweep *sweep)
{
	free(sweep->blocks);
	free(sweep->asked);
	free(sweep->planned);
	*sweep = (struct plan_sweep){0};
}

/* --- blocks ---------------------------------------------------------------------------------- */

/* The block, without what does not count any more. */
static struct plan_block *block_at(struct plan_sweep *sweep, uint64_t number)
{
	struct plan_block *block = &sweep->blocks[number];

	if (block->generation == sweep->generation)
		return block;
	*block = (struct plan_block){.epoch = block->epoch, .generation = sweep->generation};
	memset(&sweep->planned[number * (PLAN_BLOCK / 8)], 0, PLAN_BLOCK / 8);
	return block;
}

static uint64_t block_size(const struct plan_sweep *sweep, uint64_t number)
{
	uint64_t left = sweep->view->extents - number * PLAN_BLOCK;

	return left < PLAN_BLOCK ? left : PLAN_BLOCK;
}

/* Whether all of the block will be wanted. */
static bool promises(struct plan_sweep *sweep, uint64_t number)
{
	uint64_t asked = block_at(sweep, number)->asked;

	return sweep->shared ? asked * 5 >= block_size(sweep, number) * 4 : asked > 0;
}

/* Asked for, or planned. */
static bool is_settled(struct plan_sweep *sweep, uint64_t extent)
{
	block_at(sweep, extent / PLAN_BLOCK);
	return bit_get(sweep->asked, extent) || bit_get(sweep->planned, extent);
}

static void mark_planned(void *wanted, uint64_t extent)
{
	struct plan_sweep *sweep = wanted;
	struct plan_block *block = block_at(sweep, extent / PLAN_BLOCK);

	if (bit_set(sweep->planned, extent))
		return;
	block->planned++;
	sweep->ahead += plan_size(sweep->view, extent);
}

/* Of a block that promises something, up to `end`: the first extent that is wanted, or `end`. What
 * the pool has counts as planned. */
static uint64_t next_in_block(struct plan_sweep *sweep, uint64_t at, uint64_t end)
{
	for (; at < end; at++) {
		if (is_settled(sweep, at))
			continue;
		if (!plan_have(sweep->view, at))
			break;
		mark_planned(sweep, at);
	}
	return at;
}

/* --- epochs ---------------------------------------------------------------------------------- */

/* Nobody asks for these, as the page cache has them. */
static uint16_t kept_in(const struct plan_sweep *sweep, uint64_t number)
{
	uint64_t first = number * PLAN_BLOCK;
	uint16_t count = 0;

	for (uint64_t at = first; at < first + block_size(sweep, number); at++)
		if (!bit_get(sweep->asked, at) && plan_is_kept(sweep->view, at))
			count++;
	return count;
}

/* Whether nearly all was asked for in the blocks that were asked of. Of 65,536 extents the share is
 * right within 0.5 %, and what it is held against lies between 0.63 and 1. */
static bool epoch_was_whole(const struct plan_sweep *sweep)
{
	uint64_t touched = 0, distinct = 0, step = (sweep->block_count + SAMPLE - 1) / SAMPLE;

	for (uint64_t number = 0; number < sweep->block_count; number += step) {
		if (sweep->blocks[number].epoch == 0)
			continue;
		distinct += sweep->blocks[number].epoch;
		distinct += kept_in(sweep, number);
		touched += block_size(sweep, number);
	}
	return distinct * 10 >= touched * 9;
}

void plan_sweep_restart(struct plan_sweep *sweep)
{
	sweep->generation++;
	sweep->cursor = sweep->scattered = sweep->bytes = sweep->ahead = 0;
	sweep->exhausted = false;
}

static void next_epoch(struct plan_sweep *sweep)
{
	sweep->armed = epoch_was_whole(sweep);
	memset(sweep->blocks, 0, sweep->block_count * sizeof(*sweep->blocks));
	memset(sweep->asked, 0, sweep->block_count * (PLAN_BLOCK / 8));
	plan_sweep_restart(sweep);
	sweep->repeats = 0;
	sweep->epoch++;
}

/* --- demands --------------------------------------------------------------------------------- */

bool plan_sweep_count(struct plan_sweep *sweep, uint64_t extent)
{
	struct plan_block *block;

	if (bit_get(sweep->asked, extent))
		sweep->repeats++;
	else if (sweep->repeats)
		sweep->repeats--;
	if (sweep->epochs && sweep->repeats == REPEATS)
		next_epoch(sweep);
	block = block_at(sweep, extent / PLAN_BLOCK);
	if (bit_set(sweep->asked, extent))
		return false;
	block->epoch++;
	if (bit_get(sweep->planned, extent)) {
		block->planned--;
		sweep->ahead -= plan_size(sweep->view, extent);
	}
	return true;
}

void plan_sweep_demand(struct plan_sweep *sweep, uint64_t extent, bool scan)
{
	uint64_t number = extent / PLAN_BLOCK, first = number * PLAN_BLOCK;
	uint64_t end = first + block_size(sweep, number);
	struct plan_block *block;
	bool promised;

	if (!plan_sweep_count(sweep, extent))
		return;
	block = block_at(sweep, number);
	promised = promises(sweep, number);
	if (sweep->shared && block->asked == 0)
		block->asked = kept_in(sweep, number);
	block->asked++;
	sweep->bytes += plan_size(sweep->view, extent);
	sweep->scattered += !scan;
	if (sweep->exhausted && !promised && promises(sweep, number))
		sweep->exhausted = next_in_block(sweep, first, end) == end;
}

/* --- runs ------------------------------------------------------------------------------------ */

static uint64_t next_wanted(void *wanted, uint64_t at)
{
	struct plan_sweep *sweep = wanted;

	while (at < sweep->view->extents) {
		uint64_t number = at / PLAN_BLOCK, size = block_size(sweep, number);
		uint64_t end = number * PLAN_BLOCK + size;
		const struct plan_block *block = block_at(sweep, number);

		if ((uint64_t)block->epoch + block->planned < size && promises(sweep, number)) {
			at = next_in_block(sweep, at, end);
			if (at < end)
				return at;
		}
		at = end;
	}
	return PLAN_NONE;
}

/* A run has no more than this. */
static uint64_t wanted_before(void *wanted, uint64_t until)
{
	struct plan_sweep *sweep = wanted;

	for (uint64_t at = until; at > 0 && until - at < PLAN_RUN_EXTENTS;)
		if (promises(sweep, --at / PLAN_BLOCK) && !is_settled(sweep, at) &&
		    !plan_have(sweep->view, at))
			return at;
	return PLAN_NONE;
}

int plan_sweep_init(struct plan_sweep *sweep, const struct plan_view *view,
		    const struct plan_params *params)
{
	*sweep = (struct plan_sweep){
		.view = view,
		.elevator = {.view = view,
			     .forecast = PLAN_SWEEP,
			     .wanted = sweep,
			     .next = next_wanted,
			     .before = wanted_before,
			     .plan = mark_planned},
		.block_count = (view->extents + PLAN_BLOCK - 1) / PLAN_BLOCK,
		.shared = params->shared,
		.epochs = params->epochs,
		.armed = true,
	};
	sweep->blocks = calloc(sweep->block_count + 1, sizeof(*sweep->blocks));
	sweep->asked = calloc(1, sweep->block_count * (PLAN_BLOCK / 8) + 1);
	sweep->planned = calloc(1, sweep->block_count * (PLAN_BLOCK / 8) + 1);
	if (sweep->blocks && sweep->asked && sweep->planned)
		return 0;
	plan_sweep_release(sweep);
	return -ENOMEM;
}

/* Less than the room for a long run is no room: it would be filled by many short ones. */
bool plan_sweep_wants(const struct plan_sweep *sweep, const struct prefetch_budget *budget)
{
	bool known = sweep->armed && sweep->scattered >= CONFIRM;

	if (sweep->exhausted || budget->no_sweep || budget->sweep < budget->run)
		return false;
	return sweep->shared ||
	       (known && sub_sat(CREDIT * sweep->bytes, sweep->ahead) >= budget->run);
}

bool plan_sweep_around(struct plan_sweep *sweep, const struct prefetch_budget *budget,
		       uint64_t extent, struct plan_run *ret)
{
	return plan_sweep_wants(sweep, budget) && promises(sweep, extent / PLAN_BLOCK) &&
	       elevator_around(&sweep->elevator, budget, budget->sweep, extent, ret);
}

bool plan_sweep_next(struct plan_sweep *sweep, const struct prefetch_budget *budget,
		     struct plan_run *ret)
{
	uint64_t at;

	if (!plan_sweep_wants(sweep, budget))
		return false;
	at = next_wanted(sweep, sweep->cursor);
	if (at == PLAN_NONE)
		at = next_wanted(sweep, 0);
	sweep->exhausted = at == PLAN_NONE;
	if (sweep->exhausted)
		return false;
	sweep->cursor = at;
	return elevator_from(&sweep->elevator, budget, budget->sweep, at, ret);
}

void plan_sweep_commit(struct plan_sweep *sweep, const struct plan_run *run, unsigned accepted)
{
	elevator_commit(&sweep->elevator, run, accepted, &sweep->cursor);
}
