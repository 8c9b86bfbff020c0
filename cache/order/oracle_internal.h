/* What oracle.c (who is followed, and where they are) and oracle_think.c (what is thought about)
 * share. Not for others. */
#ifndef CACHE_ORDER_ORACLE_INTERNAL_H
#define CACHE_ORDER_ORACLE_INTERNAL_H

#include "cache/order/batches.h"
#include "cache/order/choose.h"
#include "cache/order/oracle.h"

#define SEARCH_FROM 4 /* stages of watch.h: 16 files of a reader, */
#define SEARCH_LAST 6 /* and 64 */

#define ROOTED 4 /* so often, or once to the end */

/* Those in use by what is followed or known, and the last group's. */
#define ORACLE_LISTS (ORACLE_COURSES + GUESS_KNOWN + GUESS_LISTS + 1)

/* A course that is followed. */
struct track {
	uint64_t id;
	struct course course; /* list NULL: an explicit order */
	struct forecast *forecast;
	uint64_t fed;	 /* the turn of the last file that was foreseen */
	uint64_t fed_by; /* so many turns */
	uint64_t passed; /* files of its own that others asked for, since one who goes by it did */
	uint64_t began, ended; /* turns; 0: it has not */
	bool followed_up;
	uint64_t joined;	 /* the track whose next pass is that of this one too; 0: none */
	unsigned rooted;	 /* so often its seed was looked for among the outputs of others */
	struct batches *batches; /* NULL: the part is known, or all there is */
	struct course next;	 /* what comes after it, */
	struct forecast *next_forecast; /* once that is known */
};

struct oracle {
	struct oracle_ops ops;
	struct watch *watch;
	uint64_t files;
	struct track tracks[ORACLE_COURSES];
	unsigned count;
	uint64_t ids;
	struct order_list *lists[ORACLE_LISTS]; /* the latest last */
	unsigned list_count;
	struct course known[GUESS_KNOWN]; /* the latest first */
	unsigned known_count;
	uint64_t asked_stage, asked_group; /* of the last thought, */
	struct choose_kinds asked_kinds;   /* of that group's files, for which lists were made, */
	uint64_t asked_hard;		   /* and the stage of the last hard one */
	uint64_t asked_models;		   /* and of that for GUESS_MODELS, */
	bool is_patient;		   /* which is under way */
	uint64_t searched;		   /* the stage for which all seeds were tried, */
	uint32_t too_short;		   /* but for a list of only so many files; 0: they were */
	uint64_t given_up;		   /* the group for which one was before its end */
	bool thinking;
	uint32_t *order; /* explicit: epochs, one after the other */
	uint32_t order_count, order_at;
	uint64_t locks, unlocks;
};

/* Takes over the forecast; the one that was fed longest ago makes room. */
void oracle_begin(struct oracle *oracle, const struct course *course, struct forecast *forecast);
/* The latest is tried first, and known once. */
void oracle_remember(struct oracle *oracle, const struct course *course);
/* Lists that are of no use, to what is followed or known, go. */
void oracle_drop_lists(struct oracle *oracle);
/* Whether two passes over a list are of one order. */
bool oracle_same_order(const struct course *a, const struct course *b);
/* Whether a course is, and has not come to its end. */
bool oracle_follows(const struct oracle *oracle, const struct course *course);
/* A track by its id, or NULL. */
struct track *oracle_track(struct oracle *oracle, uint64_t id);
/* Whether what comes after a track is made, or being made for a rank beside it, or has begun. */
bool oracle_has_next(struct oracle *oracle, const struct track *track);
/* Adds to a track's next pass that of ranks which were found by themselves: they go on as one. */
void oracle_join_ranks(struct oracle *oracle, const struct track *track, struct pass *next);
/* The files of the next epoch of the explicit order, copied, from malloc; NULL: no memory. */
uint32_t *oracle_next_epoch(struct oracle *oracle, uint32_t *ret_count);

#endif
