/* What was asked for that no forecast foresaw, and the last epoch of it.
 *
 *	saw ... saw | now: readers have begun
 *	  ^ epoch ^
 *
 * An epoch is what readers side by side asked for, before they began anew with the same files.
 * What else was read meanwhile, by others or before the epoch, is left out of it: readers that had
 * few files, those that came and went at other times (validation), a look at a file or two.
 *
 * Bounded by the number of files and HISTORY_MOST; what is too old for that is forgotten, and
 * everything where memory is short. Pure. */
#ifndef CACHE_ORDER_HISTORY_H
#define CACHE_ORDER_HISTORY_H

#include "cache/order/watch.h"

#define HISTORY_MOST	(4u << 20) /* accesses */
#define HISTORY_READERS 128

struct history;

/* Files have numbers below `files`. Returns 0 or -ENOMEM. */
int history_new(uint64_t files, struct history **ret);
void history_free(struct history *history); /* NULL is fine */

void history_saw(struct history *history, uint32_t reader, uint32_t file);

/* As if `history` had seen all that `later` has. */
void history_append(struct history *history, const struct history *later);

/* Each file once. */
struct history_epoch {
	uint32_t *files; /* of the first reader in its order, then of the second, ... */
	uint32_t count;
	unsigned readers; /* in the order in which they began */
	uint32_t ids[HISTORY_READERS];
	uint32_t starts[HISTORY_READERS + 1]; /* where each one's files begin, and `count` */
	struct watch_access *now;	      /* what came behind it, of each reader WATCH_RUN */
	unsigned now_count;
};

/* The last epoch before the present one, whose beginnings watch_beginnings() told as `begun`: one
 * that has at least half of these files. False where there is none, or no memory. */
bool history_epoch(const struct history *history, const struct watch_access *begun, unsigned count,
		   struct history_epoch *ret);
void history_epoch_release(struct history_epoch *epoch);

#endif
