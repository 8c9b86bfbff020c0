/* A server, as far as requests to it go: how many may be under way, whichever packs they are for,
 * and who tells the user that it fails.
 *
 * The server sets that limit: half as many each time it says that it is overloaded, one more for
 * each round of answers (additive increase, multiplicative decrease). Servers and proxies with too
 * many connections also close them without a word: an eighth of a round counts as an overload.
 *
 * Threads: one at a time; see http.c. */
#pragma once

#include "remote/http.h"

struct http_host {
	struct http_host *next;
	uint64_t turn; /* the later it was chosen, the larger */
	uint64_t under_way, limit;
	uint64_t slowed, answers; /* when the limit was last halved; answers since it last grew */
	uint64_t heard, closed;	  /* answers in this round, and connections that were closed */
	const struct http_client *speaker; /* who said last what is wrong; NULL: nobody */
	uint64_t spoke;			   /* when, ns */
	char name[];			   /* with the port, unless it is the usual one */
};

/* For free(3), when no transfers are left. NULL: no memory. */
struct http_host *http_host_new(const char *name);

/* Whether a transfer may begin that somebody waits for, or one that is ahead. */
bool http_host_has_place(const struct http_host *host, bool ahead);

/* Of the packs on a server that fails, one says so: whether this one may. Another may after a
 * minute, or once the first has hushed. */
bool http_host_speak(struct http_host *host, const struct http_client *client);
void http_host_hush(struct http_host *host, const struct http_client *client);

/* It says that it is overloaded; it has answered; it has refused a connection, or closed one before
 * the answer was complete. */
void http_host_slow_down(struct http_host *host);
void http_host_speed_up(struct http_host *host);
void http_host_closed(struct http_host *host);
