/* What the user hears of a server that fails: that it is asked again, once something has failed for
 * two seconds and nothing has succeeded; and that it answers again. Of all that ask one server, one
 * speaks (http_speak).
 *
 * Threads: that of transfers. */
#pragma once

#include "remote/http.h"
#include "remote/settings.h"

struct outage_notice {
	const char *shown; /* the name in lines */
	const struct remote_settings *settings;
	struct http_client *client;

	/* What follows belongs to outage_notice.c; all 0 at first: */
	uint64_t failing_since; /* since when nothing has succeeded, ns; 0: nothing has failed */
	bool logged;		/* the user was told */
	uint64_t given_up;	/* when the user was last told that a read was, ns; 0: never */
};

/* Something has failed, and is asked for again for so many seconds in all. */
void outage_notice_failed(struct outage_notice *notice, const char *why, uint64_t seconds);
void outage_notice_succeeded(struct outage_notice *notice);
/* A read was given up, of what was read before. A server that refuses some requests must not fill
 * the log. */
void outage_notice_given_up(struct outage_notice *notice, const char *why);
