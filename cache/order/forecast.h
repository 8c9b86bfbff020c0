/* Where readers are in the order of an epoch, and which files come next.
 *
 *	saw(file) -> place in the order -> in or near what is being read: as foreseen
 *	                                -> elsewhere: noise, or another order
 *	coming   -> the next files, in the order in which they will be wanted
 *
 * DataLoader's workers read batches side by side: what is being read is some rows of places that
 * grow at their ends, with gaps between that shrink. First comes the first place of each gap, then
 * the second of each, and so on; after the last row comes a gap without an end.
 *
 * Files that are not in the order say nothing about it: masks, labels, other jobs. A file far
 * before or after the readers does. The forecast is lost when hardly any of the last files of its
 * own was foreseen; a share is enough, as mosaics read three others with each.
 *
 * Pure; not for several threads at once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FORECASTS 8 /* followed at once: jobs, ranks, training and validation */

struct forecast;

/* `files` by first extents, in order, each once; taken over, and freed with the forecast, from
 * malloc. `hidden`: a bit for each file that nobody will be seen asking for, as the kernel has it:
 * these count as come. NULL: there are none. Returns 0 or -ENOMEM, and then has not taken over
 * anything. */
int forecast_new(uint32_t *files, uint32_t count, const uint8_t *hidden, struct forecast **ret);
void forecast_free(struct forecast *forecast); /* NULL is fine */
/* Of the same readers over the same order, which is shared. Returns 0 or -ENOMEM. */
int forecast_copy(const struct forecast *forecast, struct forecast **ret);

/* Finds where the readers are from what they asked for since they began, or last, in order of time;
 * some of it may belong to others. Places before them are not expected any more. Without this call
 * they are at the beginning. */
void forecast_start(struct forecast *forecast, const uint32_t *seen, unsigned count);

/* Whether a file is one that its readers may have come to in the last `turns` turns. And how
 * probable that is of any file of the order. */
bool forecast_came(const struct forecast *forecast, uint64_t file, uint64_t turns);
double forecast_came_chance(const struct forecast *forecast, uint64_t turns);

/* The readers are those of the epoch before: their batches reach as far, in proportion to the files
 * (ranks that were two orders may be one now). */
void forecast_continue(struct forecast *forecast, const struct forecast *before);

/* Whether a file is expected now. */
bool forecast_foresees(const struct forecast *forecast, uint64_t file);
/* The probability that it foresees a file of its own that somebody asks for at random. */
double forecast_chance(const struct forecast *forecast);
/* How much more rarely than its own readers somebody who goes through its files in another order
 * asks for one that is expected as this one is: right behind one that has come, or else. */
double forecast_rarity(const struct forecast *forecast, uint64_t file);
/* A file was asked for. Returns whether it was foreseen, or had come shortly before. */
bool forecast_saw(struct forecast *forecast, uint64_t file);

/* A file was pushed: its readers have it before they ask, and may not ask. If it was foreseen, it
 * counts as come. No more than FORECAST_PUSH are pushed that readers have not passed: where memory
 * is short, the kernel's copies of more would be dropped before they are read (fs/inval.h). */
#define FORECAST_PUSH 12
bool forecast_may_push(const struct forecast *forecast);
void forecast_push(struct forecast *forecast, uint64_t file);

/* Whether the files that it expects have stopped coming. */
bool forecast_lost(const struct forecast *forecast);
/* Whether half of what may be seen has come; whether nearly all has. */
bool forecast_is_half(const struct forecast *forecast);
bool forecast_ended(const struct forecast *forecast);

uint32_t forecast_count(const struct forecast *forecast);
uint32_t forecast_position(const struct forecast *forecast); /* files that have come, or will not */
bool forecast_has(const struct forecast *forecast, uint64_t file);
/* The place of a file, or ORDER_NONE; and the one after the last that was reached. */
uint32_t forecast_place(const struct forecast *forecast, uint64_t file);
uint32_t forecast_edge(const struct forecast *forecast);

/* The first place at or after `place` whose file has not come, and *ret_file its file, in the order
 * of places; or forecast_count(). */
uint32_t forecast_next(const struct forecast *forecast, uint32_t place, uint32_t *ret_file);
/* The file of a place: those before the first one that has not come were passed. */
uint32_t forecast_file(const struct forecast *forecast, uint32_t place);
/* Calls `take` with each file to come, soonest first, until it returns false. */
typedef bool forecast_take_fn(void *arg, uint32_t file);
void forecast_coming(const struct forecast *forecast, forecast_take_fn *take, void *arg);
