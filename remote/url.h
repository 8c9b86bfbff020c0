/* The parts of a URL with a host; not its user and password. */
#ifndef REMOTE_URL_H
#define REMOTE_URL_H

#include <stdbool.h>
#include <stddef.h>

/* All parts are NUL-ended, and live in `text`. */
struct url {
	char *text;
	char *scheme; /* in lower case */
	char *host;   /* with the port, unless it is the usual one of the scheme */
	char *path;   /* from its '/' on; "/" if there is none */
	char *query;  /* without '?'; "": none */
};

/* Returns 0, -EINVAL (no "scheme://host") or -ENOMEM. */
int url_parse(const char *text, struct url *ret);
void url_release(struct url *url);

/* The same scheme, host and port: both may see the same secrets. */
bool url_same_server(const struct url *a, const struct url *b);

#endif
