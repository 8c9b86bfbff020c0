/* A server, as far as requests to it go: the transfers that wait for their turn, and how many may
 * be under way, whichever packs they are for.
 *
 * The server sets that limit: half as many each time it says that it is overloaded, one more for
 * each round of answers (additive increase, multiplicative decrease). Servers and proxies with too
 * many connections also close them without a word: an eighth of a round counts as an overload.
 *
 * Threads: one at a time; see http.c. */
#pragma once

#include "remote/http.h"

struct http_list {
	struct http_transfer *first, **end;
};

void http_list_init(struct http_list *list);
void http_list_add(struct http_list *list, struct http_transfer *transfer);
struct http_transfer *http_list_take(struct http_list *list); /* NULL: it is empty */
/* What was in `to` must have been taken. */
void http_list_move(struct http_list *from, struct http_list *to);

struct http_host {
	struct http_host *next;
	struct http_list wanted, ahead; /* not begun */
	uint64_t under_way, limit;
	uint64_t slowed, answers; /* when the limit was last halved; answers since it last grew */
	uint64_t heard, closed;	  /* answers in this round, and connections that were closed */
	const struct http_client *speaker; /* who said last what is wrong; NULL: nobody */
	uint64_t spoke;			   /* when, ns */
	char name[];			   /* with the port, unless it is the usual one */
};

/* For free(3), when no transfers are left. NULL: no memory. */
struct http_host *http_host_new(const char *name);

/* Whether somebody waits for it now. */
bool http_is_ahead(const struct http_transfer *transfer);

/* At the end of those that wait, or at the head: it is the oldest. */
void http_host_add(struct http_host *host, struct http_transfer *transfer);
void http_host_put_back(struct http_host *host, struct http_transfer *transfer);

/* The next transfer that may begin, of those that somebody waits for, or of those that are ahead;
 * NULL: none may. */
struct http_transfer *http_host_take(struct http_host *host, bool ahead);

/* Of the packs on a server that fails, one says so: whether this one may. Another may after a
 * minute, or once the first has hushed. */
bool http_host_speak(struct http_host *host, const struct http_client *client);
void http_host_hush(struct http_host *host, const struct http_client *client);

/* It says that it is overloaded; it has answered; it has refused a connection, or closed one before
 * the answer was complete. */
void http_host_slow_down(struct http_host *host);
void http_host_speed_up(struct http_host *host);
void http_host_closed(struct http_host *host);
