/* What oracle.c (which orders are followed, and where their readers are) and oracle_query.c (what
 * is to be found out, and what follows from it) share. */
#pragma once

#include "cache/order/batches.h"
#include "cache/order/choose.h"
#include "cache/order/oracle.h"

#define SEARCH_FROM 5 /* stages of watch.h: 16 files of a reader, */
#define SEARCH_LAST 7 /* and 64 */

#define ORIGIN_SEARCHES 4 /* for one track, unless one came to its end */

/* Those of tracks and known epochs, and those of the last group of readers. */
#define ORACLE_LISTS (FORECASTS + GUESS_KNOWN + GUESS_LISTS + 1)

/* An order in use. began -> fed ... -> ended (a few files may still come) -> freed once the next
 * epoch is under way; or lost, and freed at once. */
struct track {
	uint64_t id;
	struct hypothesis hypothesis; /* list NULL: an explicit order */
	struct forecast *forecast;
	uint64_t fed;	       /* the turn of the last file that was foreseen */
	uint64_t fed_by;       /* turns that it foresaw */
	uint64_t passed;       /* its files that only other readers asked for, since its own did, */
	uint64_t strays;       /* and any files that readers of no order asked for */
	uint64_t began, ended; /* turns; 0: it has not */
	bool remembered;       /* readers were seen to follow it */
	bool followed_up;
	uint64_t joined; /* the track whose next epoch is that of this one too; 0: none */
	unsigned origin_searches;
	struct batches *batches;	/* NULL: the part is known, or all there is */
	struct hypothesis next;		/* what comes after it, */
	struct forecast *next_forecast; /* once that is known */
};

/* What was asked about the readers: stages as in watch.h. */
struct asked {
	uint64_t stage, shortest, group; /* of the last query: of both beginnings, */
	uint64_t began;			 /* the group's oldest, at the last query */
	uint64_t usual, models;		 /* of the last ones with GUESS_USUAL, _MODELS, */
	uint64_t hard, all_seeds;	 /* GUESS_MORE, _ALL */
	bool brief;			 /* the last query: more files of its group do not end it */
	struct choose_kinds kinds;	 /* of the group's files, for which lists were made */
};

struct oracle {
	struct oracle_ops ops;
	struct watch *watch;
	uint64_t files;
	struct track tracks[FORECASTS];
	unsigned count;
	uint64_t ids;
	struct order_list *lists[ORACLE_LISTS]; /* the latest last */
	unsigned list_count;
	struct hypothesis known[GUESS_KNOWN]; /* the latest first */
	unsigned known_count;
	uint64_t missed; /* files read before any order was known, but not in a scan */
	struct asked asked;
	bool is_asking;	     /* a query is under way, */
	bool is_making_next; /* or one of a next epoch, perhaps beside it */
	uint32_t too_short;  /* files of the list for which a search of all seeds was left out */
	uint64_t paused;     /* the group for which a query ended early, though nothing was new */
	enum oracle_why why; /* nothing was found for the last group asked about */
	bool unusual;	     /* the same, and not for want of time */
	uint32_t *order;     /* explicit: epochs, one after the other */
	uint32_t order_count;
	uint32_t order_from, order_at; /* the epoch that was made last, and the next one */
	uint32_t order_least;	       /* files of an epoch, before one that comes again ends it */
	uint64_t locks, unlocks;
};

/* Takes over the forecast; if there are FORECASTS already, frees the one that was fed longest
 * ago. */
void oracle_begin(struct oracle *oracle, const struct hypothesis *hypothesis,
		  struct forecast *forecast);
/* Adds to the known epochs, once, as the first to be tried. */
void oracle_remember(struct oracle *oracle, const struct hypothesis *hypothesis);
/* Frees the lists that no track and no known epoch uses. */
void oracle_drop_lists(struct oracle *oracle);
/* Whether two hypotheses say the same order. */
bool oracle_same_order(const struct hypothesis *a, const struct hypothesis *b);
/* Whether a track follows that order, and has not ended. */
bool oracle_follows(const struct oracle *oracle, const struct hypothesis *hypothesis);
/* A track by its id, or NULL. */
struct track *oracle_track(struct oracle *oracle, uint64_t id);
/* Whether a track's next epoch is made, or part of that of a rank beside it, or has begun. */
bool oracle_has_next(struct oracle *oracle, const struct track *track);
/* Adds the next epoch of ranks that are tracks of their own: from then on they are one. */
void oracle_join_ranks(struct oracle *oracle, const struct track *track, struct sampler *next);
/* A copy of the next epoch of the explicit order, from malloc; NULL: no memory. */
uint32_t *oracle_next_epoch(struct oracle *oracle, uint32_t *ret_count);
