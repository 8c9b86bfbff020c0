/* The shuffle oracle: from which reader asked for which file to the order of the files to come.
 *
 *	saw -> watch: how readers begin -> query, once there is enough to go by
 *	    -> forecasts: is the file foreseen?       |  run without a lock: guess.h
 *	       lost: given up                         v
 *	       ended: the next epoch begins  <- answer: a hypothesis, whose forecast is followed
 *
 * A hypothesis is a sampler over a list of files; a track is one that is followed. Several are
 * followed at a time: training and validation, ranks, jobs. Two epochs show how a sampler goes on;
 * from then on the next forecast is made in time.
 *
 * Pure: no threads, no clock. The caller locks, except for oracle_run(), which takes as long as a
 * search. */
#pragma once

#include "cache/order/forecast.h"
#include "cache/order/guess.h"

struct oracle;

/* The reader-ahead. Functions that may change which forecasts are followed call it; a forecast
 * lives until `leave` has returned. */
struct oracle_ops {
	void *context;
	void (*follow)(void *context, const struct forecast *forecast);
	void (*leave)(void *context, const struct forecast *forecast);
	/* From malloc, a bit for each file that the kernel holds: readers are not seen asking for
	 * it. NULL: there are none, or no memory. */
	uint8_t *(*hidden)(void *context);
};

/* Files have numbers below `files`. Returns 0 or -ENOMEM. */
int oracle_new(uint64_t files, const struct oracle_ops *ops, struct oracle **ret);
void oracle_free(struct oracle *oracle); /* NULL is fine */

/* A reader (0: one of many) opened a file or began to read it. */
void oracle_saw(struct oracle *oracle, uint32_t reader, uint32_t file);

/* The kernel was given a file before anybody asked for it. */
void oracle_pushed(struct oracle *oracle, uint32_t file);

/* --- queries --------------------------------------------------------------------------------- */

/* From a question to what follows from it:
 *
 *	oracle_ask                      oracle_run        oracle_answer
 *
 *	what do readers follow?         an order          a track follows it
 *	                                nothing           oracle_state.why
 *	what is a track's next epoch?   a forecast        the track goes on with it
 *	which part of it is read here?  a forecast        the track goes on with it
 *	where was its seed drawn?       generators        epochs that may be next
 *	     ^                              |
 *	     +-------- asked anew ------- over: nobody waits for what it finds (oracle_is_over())
 */
struct query;

/* How much a query may cost. */
struct effort {
	bool guess;	    /* else only what follows known epochs is made */
	bool usual;	    /* also GUESS_USUAL: as soon as enough was seen */
	bool models;	    /* also GUESS_MODELS */
	bool hard;	    /* also GUESS_MORE and GUESS_ALL */
	double least, soon; /* as in struct observations */
};

/* What can be found out now: NULL if nothing is new, or without memory. One query at a time; */
struct query *oracle_ask(struct oracle *oracle, const struct effort *effort);
/* but the next epoch of a known order, also one at a time, does not wait for another query. */
struct query *oracle_ask_next(struct oracle *oracle);

/* Where lists come from: calls `found` for each list that has the file, likeliest first, with the
 * number of classes that a loader has for it, 0 if that is not known. */
typedef int oracle_list_fn(void *arg, const char *name, const uint32_t *files, uint32_t count,
			   uint32_t classes);
struct oracle_hooks {
	struct search_hooks search;
	void *context;
	int (*lists)(void *context, uint64_t file, oracle_list_fn *found, void *arg);
	/* Alike for files that loaders would list together, as far as their names say: not for an
	 * image and its label. */
	uint64_t (*kind)(void *context, uint64_t file);
};

void oracle_run(struct query *query, const struct oracle_hooks *hooks);

/* Whether it may take longer than a look for what is usual. */
bool query_is_long(const struct query *query);

/* Whether a query under way is over: other readers have begun, or one belongs to these now that may
 * have the first files, or they have shown enough to begin again. The last counts neither for a
 * search of models nor for one of all seeds. */
bool oracle_is_over(const struct oracle *oracle, bool all_seeds);

/* Takes the query back and frees it. Returns whether an order was found, described in *ret for
 * people. One that hooks->over said to be over is asked anew; for the same readers, once. */
#define ORACLE_SENTENCE 256
bool oracle_answer(struct oracle *oracle, struct query *query, char ret[ORACLE_SENTENCE]);

/* --- explicit orders ------------------------------------------------------------------------- */

/* From now on readers will ask for `files` in this order; a file that comes again begins the next
 * epoch, once this one has 16384 files, or half of all. Copied; replaces the order given before;
 * count 0: there is none. Returns 0, or -ENOMEM: there is none then. */
int oracle_order(struct oracle *oracle, const uint32_t *files, uint32_t count);

/* --- what it knows --------------------------------------------------------------------------- */

/* Why no order is followed: as far as was tried with these readers. */
enum oracle_why {
	ORACLE_IDLE,	   /* nothing was read */
	ORACLE_TOO_FEW,	   /* files were read to go by */
	ORACLE_PATH_ORDER, /* as they lie in a list */
	ORACLE_NO_NEED,	   /* not a usual seed; effort.hard was not wanted so far */
	ORACLE_TOO_SHORT,  /* not a usual seed; a list ends before a search of all seeds would */
	ORACLE_UNKNOWN,	   /* also with a search of all seeds */
};

struct oracle_state {
	enum oracle_why why; /* where there are no tracks */
	bool unusual; /* these readers follow nothing that is known soon: GUESS_LIKELY was tried */
	unsigned tracks;	    /* that are followed, */
	unsigned under_way;	    /* and have not ended */
	char sampler[SAMPLER_NAME]; /* of the track that foresaw the last file; "": none */
	char list[SAMPLER_NAME];
	uint32_t seed;
	uint64_t epoch; /* of this hypothesis, from 0 */
	uint64_t position, files;
	uint64_t locks, unlocks;
};

void oracle_state(const struct oracle *oracle, struct oracle_state *ret);

/* Files that readers have asked for so far. */
uint64_t oracle_turns(const struct oracle *oracle);
