/* The shuffle oracle: from who asked for what to the order of what comes.
 *
 *	saw -> watch: how readers begin        -> question (when it may be answered)
 *	    -> forecasts: does it go as foreseen?       |  thought about without a lock: guess.h
 *	       lost: not followed any more             v
 *	       ended: the next pass begins <- answer: a course, whose forecast is followed
 *
 * A course is the pass of a sampler over a list of files. Several are followed at a time: training
 * and validation, ranks, jobs. What follows a pass is known once two have been seen, and the next
 * forecast is then made ahead of time. Pure: no threads, no clock; the caller locks,
 * but for oracle_think(), which takes as long as a search. */
#ifndef CACHE_ORDER_ORACLE_H
#define CACHE_ORDER_ORACLE_H

#include "cache/order/forecast.h"
#include "cache/order/guess.h"

#define ORACLE_COURSES 8

struct oracle;

/* The one who reads ahead. Called by what may change what is followed; a forecast lives until
 * `leave` of it has returned. */
struct oracle_ops {
	void *context;
	void (*follow)(void *context, const struct forecast *forecast);
	void (*leave)(void *context, const struct forecast *forecast);
	/* Files that nobody is seen asking for now, as the kernel has them, a bit for each, from
	 * malloc; NULL: there are none, or no memory. */
	uint8_t *(*hidden)(void *context);
};

/* Files have numbers below `files`. Returns 0 or -ENOMEM. */
int oracle_new(uint64_t files, const struct oracle_ops *ops, struct oracle **ret);
void oracle_free(struct oracle *oracle); /* NULL is fine */

/* A reader (0: one of many) opened a file or began to read it. */
void oracle_saw(struct oracle *oracle, uint32_t reader, uint32_t file);

/* The kernel was given a file before anybody asked for it. */
void oracle_pushed(struct oracle *oracle, uint32_t file);

/* --- thinking -------------------------------------------------------------------------------- */

struct thought; /* a question, and what came of it */

/* How hard to think. */
struct effort {
	bool guess;   /* else only of what follows known passes */
	bool models;  /* also GUESS_MODELS */
	bool hard;    /* what takes long is worth it: GUESS_MORE and GUESS_ALL */
	double least; /* as in struct question */
};

/* What there is to think about now: NULL where there is nothing new, or no memory. One thought at
 * a time. */
struct thought *oracle_ask(struct oracle *oracle, const struct effort *effort);

/* Where lists come from: tells of each that has the file, likeliest first. */
typedef int oracle_list_fn(void *arg, const char *name, const uint32_t *files, uint32_t count);
struct oracle_hooks {
	struct guess_hooks guess;
	void *context;
	void (*takes_long)(void *context); /* told when it does, from here on */
	int (*lists)(void *context, uint64_t file, oracle_list_fn *found, void *arg);
	/* Alike for files that loaders would list together, as far as their names say: not for an
	 * image and its label. */
	uint64_t (*kind)(void *context, uint64_t file);
};

void oracle_think(struct thought *thought, const struct oracle_hooks *hooks);

/* Whether other readers have begun since, or those in question have shown so much more that a long
 * thought is better given up; less is worth a search of all seeds, once that is under way. */
bool oracle_has_new(const struct oracle *oracle, bool all_seeds);

/* Takes the thought back, and frees it. Returns whether an order was found, and what that is in
 * words for people. */
#define ORACLE_SENTENCE 256
bool oracle_answer(struct oracle *oracle, struct thought *thought, char ret[ORACLE_SENTENCE]);

/* --- explicit orders ------------------------------------------------------------------------- */

/* From now on `files` are asked for in this order; one that comes again begins another epoch.
 * Copied; takes the place of the one before; count 0: none. Returns 0 or -ENOMEM. */
int oracle_order(struct oracle *oracle, const uint32_t *files, uint32_t count);

/* --- what it knows --------------------------------------------------------------------------- */

struct oracle_state {
	unsigned courses;	 /* followed, */
	unsigned under_way;	 /* and not at their ends */
	char sampler[PASS_NAME]; /* of the one that was fed last; "" where there is none */
	char list[PASS_NAME];
	uint32_t seed;
	uint64_t epoch; /* of this course, from 0 */
	uint64_t position, files;
	uint64_t locks, unlocks;
};

void oracle_state(const struct oracle *oracle, struct oracle_state *ret);

/* Turns of readers so far: files asked for. */
uint64_t oracle_turns(const struct oracle *oracle);

#endif
