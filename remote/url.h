/* The parts of a URL with a host; not its user and password.
 *
 * Secrets go where url.h says that a URL leads, but libcurl is who goes there. So what URL parsers
 * read differently, or did in some version, is no URL here: two '@', a '\\' or a '%' in the host, a
 * port that is empty or begins with 0, blanks and control characters. */
#pragma once

#include "base/buf.h"
#include <stdbool.h>

/* All parts are NUL-ended, and live in `text`. */
struct url {
	char *text;
	char *scheme; /* in lower case */
	char *host;   /* with the port, unless it is the usual one of the scheme */
	size_t name;  /* bytes of the host without its port */
	char *path;   /* from its '/' on; "/" if there is none */
	char *query;  /* without '?'; "": none */
};

/* Returns 0, -EINVAL (not one, or one of those above) or -ENOMEM. */
int url_parse(const char *text, struct url *ret);
void url_release(struct url *url);

/* What is the same for all users, and for all links of a file that are signed: "https://host/path",
 * without user, password and query. The caller frees it. Returns as url_parse(). */
int url_place(const char *text, char **ret);

/* The same scheme, host and port: both may see the same secrets. */
bool url_same_server(const struct url *a, const struct url *b);
/* HOST or HOST:PORT, as a user writes it; without a port, any port of the host is meant. */
bool url_is_at(const struct url *url, const char *host);
/* Whether its host is this domain, or is in it. */
bool url_is_below(const struct url *url, const char *domain);
/* Whether a URL's host is an address, and no name. */
bool url_has_address(const char *text);
/* Whether it leads to this machine itself: localhost, 127.0.0.0/8 or [::1]. */
bool url_is_here(const struct url *url);

/* Appends the text, percent-encoded as signatures need it: all but A-Z a-z 0-9 - . _ ~ and `keep`,
 * in upper case. Returns 0 or -ENOMEM. */
int url_encode(struct buf *buf, const char *text, const char *keep);
