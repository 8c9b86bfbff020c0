#include "remote/http_host.h"
#include "base/clock.h"
#include "base/math.h"
#include <stdlib.h>
#include <string.h>

#define LIMIT_LEAST  4
#define CLOSED_SHARE 8
#define SILENCE_NS   (60 * CLOCK_SECOND)
#define OVERLOAD_NS  CLOCK_SECOND /* refusals within this time are one overload */

struct http_host *http_host_new(const char *name)
{
	struct http_host *host = calloc(1, sizeof(*host) + strlen(name) + 1);

	if (!host)
		return NULL;
	memcpy(host->name, name, strlen(name));
	host->limit = HTTP_MOST;
	return host;
}

bool http_host_has_place(const struct http_host *host, bool ahead)
{
	return host->under_way < host->limit - (ahead ? host->limit / HTTP_WANTED_SHARE : 0);
}

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
