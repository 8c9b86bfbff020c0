/* The order of an epoch, and where its readers are in it.
 *
 *	saw(file) -> place in the order -> in or near what is being read: it goes as foreseen
 *	                                -> elsewhere: noise, or another order
 *	coming   -> the next files, in the order in which they will be wanted
 *
 * DataLoader's workers read batches side by side, so that what is being read is some runs of
 * places, each of which grows at its end; between them lie gaps that shrink. What comes first is
 * the first of each gap, then the second of each, and so on, the space behind the last run being a
 * gap without an end.
 *
 * Files that are not in the order say nothing about it: masks, labels, other jobs. A file that the
 * order has behind the readers, or far ahead, does. The forecast is lost when hardly any of the
 * last demands for its own files was foreseen: a share of them is enough (mosaics read three others
 * with each). Pure. */
#ifndef CACHE_ORDER_FORECAST_H
#define CACHE_ORDER_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

struct forecast;

/* `files` by first extents, in order, each once; taken over, and freed with the forecast, from
 * malloc. `hidden`: a bit for each file that nobody will be seen asking for, as the kernel has it:
 * these count as come; or NULL. Returns 0 or -ENOMEM, and then has not taken over anything. */
int forecast_new(uint32_t *files, uint32_t count, const uint8_t *hidden, struct forecast **ret);
void forecast_free(struct forecast *forecast); /* NULL is fine */
/* A tracker of the same readers over the same order, which is shared. Returns 0 or -ENOMEM. */
int forecast_copy(const struct forecast *forecast, struct forecast **ret);

/* Where the readers are: what they asked for of late, or since they began, in the order of time;
 * some of it may belong to others. What lies before them is not expected any more. Without this,
 * the readers are at the beginning. */
void forecast_start(struct forecast *forecast, const uint32_t *seen, unsigned count);

/* Whether a file is among those with which the readers were found to be there. */
bool forecast_came(const struct forecast *forecast, uint64_t file);

/* The readers are those of the epoch before: their batches reach as far, in proportion to the files
 * (ranks that were two orders may be one now). */
void forecast_continue(struct forecast *forecast, const struct forecast *before);

/* Whether a file is expected about now. */
bool forecast_foresees(const struct forecast *forecast, uint64_t file);
/* The chance with which it foresees a file of its own that somebody else asks for. */
double forecast_chance(const struct forecast *forecast);
/* A file was asked for. Returns whether that was foreseen; what was asked for shortly before is no
 * surprise. */
bool forecast_saw(struct forecast *forecast, uint64_t file);
/* The same for who leaves it to others to judge whether the forecast is lost. */
void forecast_went_on(struct forecast *forecast, uint64_t file);

/* Some of what comes is pushed: the readers have it before they ask, and may not ask. It counts as
 * come; but no more than so many are pushed that nobody has come by yet. */
#define FORECAST_PUSH 48
bool forecast_may_push(const struct forecast *forecast);
void forecast_push(struct forecast *forecast, uint64_t file);

/* The files it expects stopped coming. */
bool forecast_lost(const struct forecast *forecast);
/* Half of what may be seen has come; nearly all has. */
bool forecast_is_half(const struct forecast *forecast);
bool forecast_ended(const struct forecast *forecast);

uint32_t forecast_count(const struct forecast *forecast);
uint32_t forecast_position(const struct forecast *forecast); /* files that have come, or will not */
bool forecast_has(const struct forecast *forecast, uint64_t file);
/* The place of a file, or ORDER_NONE; and the one behind the last that was reached. */
uint32_t forecast_place(const struct forecast *forecast, uint64_t file);
uint32_t forecast_edge(const struct forecast *forecast);

/* The first place at or after `place` whose file has not come, and *ret_file its file, in the order
 * of places; or forecast_count(). */
uint32_t forecast_next(const struct forecast *forecast, uint32_t place, uint32_t *ret_file);
/* Calls `take` with each file to come, soonest first, until it returns false or all are told. */
typedef bool forecast_take_fn(void *arg, uint32_t file);
void forecast_coming(const struct forecast *forecast, forecast_take_fn *take, void *arg);

#endif
