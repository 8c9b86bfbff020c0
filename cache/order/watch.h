/* Who asked for which files, and how each reader began.
 *
 *	turn(reader, file) -> another file than before? -> note(foreseen or not)
 *	                                                -> beginnings: what forecasts do not explain
 *
 * A reader is a process or thread by its id; 0 stands for all those of other namespaces together.
 * Its beginning is what it asked for first, or first after the last file that a forecast foresaw,
 * or after it began to ask for everything anew. Bounded: the last WATCH_LOG accesses of
 * beginnings, WATCH_RUN of each reader; nothing is allocated after watch_new. Pure. */
#ifndef CACHE_ORDER_WATCH_H
#define CACHE_ORDER_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define WATCH_LOG      4096
#define WATCH_RUN      64  /* accesses that are a beginning */
#define WATCH_RUN_MANY 512 /* the same of reader 0 */
#define WATCH_RECENT   1024

struct watch;

/* Files have numbers below `files`. Returns 0 or -ENOMEM. */
int watch_new(uint64_t files, struct watch **ret);
void watch_free(struct watch *watch); /* NULL is fine */

/* False while the reader is at the file that it was told for last. */
bool watch_turn(struct watch *watch, uint32_t reader, uint32_t file);
/* The forecast that the reader of that turn goes by, or went by last; 0: none. */
uint64_t watch_goes_by(const struct watch *watch);
/* What that turn was, said once after it: foreseen by a forecast, whose id is not 0, with a
 * `chance` to be foreseen whoever asks; or by none. Returns whether the reader goes by that
 * forecast. */
bool watch_note(struct watch *watch, uint64_t forecast, double chance);

/* What a reader asked for until now was found to be part of a forecast, which it goes by. */
void watch_explain(struct watch *watch, uint32_t reader, uint64_t forecast);

/* An access of a beginning. */
struct watch_access {
	uint32_t reader, file;
	uint32_t nth; /* of this reader's beginning, from 0 */
};

/* The beginnings of readers that read side by side, in order of time: of those that were still
 * reading when the youngest began, and have come at least a fourth as far as the longest.
 * `ret` has room for WATCH_LOG. Returns how many. */
unsigned watch_beginnings(const struct watch *watch, struct watch_access *ret);

/* Changes when the beginnings say more than before: with the first reader, and whenever the
 * longest beginning has doubled. 0: there is none. */
uint64_t watch_stage(const struct watch *watch);
/* The same of the shortest of these beginnings. */
uint64_t watch_stage_of_all(const struct watch *watch);
/* Accesses that it has; of reader 0, which is many, so many that each of these may have. */
uint32_t watch_shortest(const struct watch *watch);

/* The turn with which the first of these readers began. */
uint64_t watch_began(const struct watch *watch);

/* What was asked for last, by whomever, from that turn on, in order of time. `ret` has room for
 * WATCH_RECENT. */
unsigned watch_recent(const struct watch *watch, uint64_t since, uint32_t *ret);

/* Turns so far. */
uint64_t watch_turns(const struct watch *watch);

#endif
