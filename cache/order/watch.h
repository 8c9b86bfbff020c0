/* Which reader asked for which files, and how each of them began.
 *
 *	turn(reader, file) -> another file than before? -> note(foreseen or not)
 *	                                                -> beginnings: what no forecast explains
 *
 * A reader is a process or thread, by its number; 0 stands for all those of other namespaces. Its
 * beginning is what it asked for first: at all, or after the last file that a forecast foresaw, or
 * after it began to ask for everything again.
 *
 *	new -> beginning (accesses 0, 1, ... WATCH_BEGINNING) -> follows a forecast -> beginning ...
 *
 * Bounded: the last WATCH_LOG accesses of beginnings, WATCH_BEGINNING of each reader; nothing is
 * allocated after watch_new(). Pure; not for several threads at once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WATCH_LOG	     16384
#define WATCH_BEGINNING	     64	 /* accesses that are a beginning */
#define WATCH_BEGINNING_MANY 512 /* the same of reader 0 */
#define WATCH_RECENT	     1024

struct watch;

/* Files have numbers below `files`. Returns 0 or -ENOMEM. */
int watch_new(uint64_t files, struct watch **ret);
void watch_free(struct watch *watch); /* NULL is fine */

/* A reader asked for a file. False while that is the file that it asked for last. */
bool watch_turn(struct watch *watch, uint32_t reader, uint32_t file);
/* The forecast that the reader of that turn follows, or followed last; 0: none. */
uint64_t watch_goes_by(const struct watch *watch);
/* Whether it follows that one still. */
bool watch_follows(const struct watch *watch);
/* Whether its file lies right after one that it asked for just before, as in a scan. */
bool watch_goes_on(const struct watch *watch);
/* Once after each turn: which forecast foresaw the file (0: none), and the `chance` that it
 * foresees a file that anybody asks for. Returns whether the reader follows that forecast. */
bool watch_note(struct watch *watch, uint64_t forecast, double chance);

/* An order was found: a reader that began at the turn `since` or later follows this forecast from
 * now on, if the forecast `has` a share of what it asked for that is too large for chance. `chance`
 * is the probability that it `has` a file that anybody asks for. */
void watch_explain(struct watch *watch, uint64_t since, uint64_t forecast, double chance,
		   bool (*has)(const void *context, uint32_t file), const void *context);

/* An access of a beginning. */
struct watch_access {
	uint32_t reader, file;
	uint32_t nth; /* of this reader's beginning, from 0 */
};

/* The readers that still read when the youngest of them began, and have come at least a fourth as
 * far as the longest. */
struct watch_group {
	uint64_t youngest; /* the turn with which it began; 0: there is no group */
	uint64_t began;	   /* the same of the oldest */
	uint32_t longest;  /* beginning: accesses of one of them, */
	uint32_t shortest; /* and of another; of reader 0, as many as each of many readers may
			    * have */
};
struct watch_group watch_group(const struct watch *watch);

/* Their beginnings in order of time. `ret` has room for WATCH_LOG. Returns how many. */
unsigned watch_beginnings(const struct watch *watch, struct watch_access *ret);

/* Changes when a beginning of the group says more than before: `youngest` << 3, and up to 7 as it
 * has 2, 4, 6, 8, 16, 32 or WATCH_BEGINNING accesses. 0: there is no group. Where storage is far,
 * each access takes a round trip until the order is known: hence 6. */
uint64_t watch_stage(const struct watch_group *group, uint32_t beginning);

/* The last files that were asked for, by any reader, from that turn on, in order of time. `ret` has
 * room for WATCH_RECENT. */
unsigned watch_recent(const struct watch *watch, uint64_t since, uint32_t *ret);

/* Turns so far. */
uint64_t watch_turns(const struct watch *watch);
