#include "remote/http_host.h"
#include "base/clock.h"
#include "base/math.h"
#include <stdlib.h>
#include <string.h>

#define LIMIT_LEAST  4
#define CLOSED_SHARE 8
#define SILENCE_NS   (60 * CLOCK_SECOND)
#define OVERLOAD_NS  CLOCK_SECOND /* refusals within this time are one overload */

/* --- lists ------------------------------------------------------------------------------------ */

void http_list_init(struct http_list *list)
{
	*list = (struct http_list){.end = &list->first};
}

void http_list_add(struct http_list *list, struct http_transfer *transfer)
{
	transfer->next = NULL;
	*list->end = transfer;
	list->end = &transfer->next;
}

/* Takes the transfer that *at leads to. */
static struct http_transfer *take_at(struct http_list *list, struct http_transfer **at)
{
	struct http_transfer *transfer = *at;

	if (!transfer)
		return NULL;
	*at = transfer->next;
	if (list->end == &transfer->next)
		list->end = at;
	return transfer;
}

struct http_transfer *http_list_take(struct http_list *list)
{
	return take_at(list, &list->first);
}

void http_list_move(struct http_list *from, struct http_list *to)
{
	*to = *from;
	if (!to->first)
		to->end = &to->first;
	http_list_init(from);
}

/* --- what waits for its turn ------------------------------------------------------------------ */

struct http_host *http_host_new(const char *name)
{
	struct http_host *host = calloc(1, sizeof(*host) + strlen(name) + 1);

	if (!host)
		return NULL;
	memcpy(host->name, name, strlen(name));
	host->limit = HTTP_MOST;
	http_list_init(&host->wanted);
	http_list_init(&host->ahead);
	return host;
}

bool http_is_ahead(const struct http_transfer *transfer)
{
	return transfer->ahead && atomic_load_explicit(transfer->ahead, memory_order_relaxed);
}

static struct http_list *list_of(struct http_host *host, struct http_transfer *transfer)
{
	transfer->host = host;
	return http_is_ahead(transfer) ? &host->ahead : &host->wanted;
}

void http_host_add(struct http_host *host, struct http_transfer *transfer)
{
	http_list_add(list_of(host, transfer), transfer);
}

void http_host_put_back(struct http_host *host, struct http_transfer *transfer)
{
	struct http_list *list = list_of(host, transfer);

	transfer->next = list->first;
	if (!list->first)
		list->end = &transfer->next;
	list->first = transfer;
}

/* The first transfer that was ahead when it came, and that somebody waits for now. */
static struct http_transfer *take_overtaken(struct http_list *list)
{
	struct http_transfer **at = &list->first;

	while (*at && http_is_ahead(*at))
		at = &(*at)->next;
	return take_at(list, at);
}

struct http_transfer *http_host_take(struct http_host *host, bool ahead)
{
	struct http_transfer *transfer;

	if (host->under_way >= host->limit - (ahead ? host->limit / HTTP_WANTED_SHARE : 0))
		return NULL;
	if (ahead)
		return http_list_take(&host->ahead);
	transfer = http_list_take(&host->wanted);
	return transfer ? transfer : take_overtaken(&host->ahead);
}

/* --- who speaks ------------------------------------------------------------------------------- */

bool http_host_speak(struct http_host *host, const struct http_client *client)
{
	uint64_t now = clock_ns();

	if (host->speaker && host->speaker != client && now - host->spoke < SILENCE_NS)
		return false;
	host->speaker = client;
	host->spoke = now;
	return true;
}

void http_host_hush(struct http_host *host, const struct http_client *client)
{
	if (host->speaker == client)
		host->speaker = NULL;
}

/* --- the limit -------------------------------------------------------------------------------- */

void http_host_slow_down(struct http_host *host)
{
	uint64_t now = clock_ns();

	host->answers = 0;
	if (now - host->slowed < OVERLOAD_NS)
		return;
	host->slowed = now;
	host->limit = max(min(host->limit, host->under_way) / 2, LIMIT_LEAST);
}

/* Single connections break anywhere. While the server answers nothing, it is away, not busy. */
void http_host_closed(struct http_host *host)
{
	if (host->heard == 0 || ++host->closed * CLOSED_SHARE < host->limit)
		return;
	host->heard = host->closed = 0;
	http_host_slow_down(host);
}

void http_host_speed_up(struct http_host *host)
{
	if (++host->heard > host->limit) {
		host->heard = 1;
		host->closed = 0;
	}
	if (host->limit == HTTP_MOST || ++host->answers < host->limit)
		return;
	host->answers = 0;
	host->limit++;
}
