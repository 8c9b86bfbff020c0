/* A query: what oracle_ask.c asks, and oracle_query.c runs and answers. */
#pragma once

#include "cache/order/oracle_internal.h"

#define ORACLE_RESULTS 4
#define ORACLE_ORIGINS 8 /* found for one seed, at most */

/* A hypothesis that was found, and its forecast. */
struct result {
	struct hypothesis hypothesis;
	unsigned seen;	 /* of its files; of the first one it does not matter */
	uint32_t *files; /* in the order of the hypothesis */
	uint32_t count;
	struct forecast *forecast; /* NULL: no memory */
};

enum query_kind {
	QUERY_ORDER,  /* which order do readers follow? */
	QUERY_NEXT,   /* a track's next epoch */
	QUERY_PART,   /* the part of a track that is read here */
	QUERY_ORIGIN, /* which generator does a track's seed come from? */
};

struct query {
	enum query_kind kind;
	uint64_t track;			       /* all but QUERY_ORDER: its id */
	struct result results[ORACLE_RESULTS]; /* several: masks beside images */
	unsigned result_count;
	bool over; /* before all was tried */

	/* QUERY_ORDER: */
	struct observations observations;
	uint64_t since;		   /* the turn with which the readers in question began */
	unsigned efforts;	   /* guess() */
	enum oracle_why why;	   /* nothing was found */
	uint64_t group;		   /* of the readers, as in watch_stage() */
	uint64_t kinds[WATCH_LOG]; /* of the files that were seen */
	struct choose_kinds asked; /* the oracle's */
	struct order_list *lists[2 * GUESS_LISTS]; /* that were asked for, before and after an order
						    * was found */
	unsigned list_count;

	/* QUERY_ORIGIN: */
	struct sampler origins[ORACLE_ORIGINS];
	unsigned origin_count;
};

/* Turns of all readers since that one, itself included. */
uint64_t oracle_turns_since(const struct oracle *oracle, uint64_t turn);
/* As if nothing had been asked about the present readers. */
void oracle_ask_anew(struct oracle *oracle);
