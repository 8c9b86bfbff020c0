#include "remote/url.h"
#include "base/name.h"
#include "base/scope.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_clean(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text <= ' ' || *text == 0x7f)
			return false;
	return true;
}

static bool is_port(const char *port, const char *end)
{
	char *after;
	unsigned long number = *port > '0' && *port <= '9' ? strtoul(port, &after, 10) : 0;

	return number > 0 && number <= 65535 && after == end;
}

/* The bytes of the host's name, if HOST or HOST:PORT is all between its ends; otherwise 0. Names in
 * other scripts have bytes above 127. */
static size_t name_len(const char *host, const char *end)
{
	const char *at = host;

	if (host < end && *host == '[') {
		at += 1 + strspn(host + 1, "0123456789abcdefABCDEF:.");
		at = *at == ']' && at > host + 1 ? at + 1 : host;
	} else {
		while (at < end && (isalnum((unsigned char)*at) || (unsigned char)*at > 127 ||
				    strchr("-._", *at)))
			at++;
	}
	if (at > end || (at < end && (*at != ':' || !is_port(at + 1, end))))
		return 0;
	return (size_t)(at - host);
}

static char *add_url_part(char **to, const char *from, size_t len)
{
	char *part = memcpy(*to, from, len);

	part[len] = '\0';
	*to += len + 1;
	return part;
}

int url_parse(const char *text, struct url *ret)
{
	size_t scheme = name_scheme(text), path, query, len, port;
	const char *host = text + scheme + 3, *end, *at, *usual;
	struct url url = {0};
	char *to;

	if (scheme == 0 || !is_clean(text))
		return -EINVAL;
	end = host + strcspn(host, "/?#\\");
	at = memchr(host, '@', (size_t)(end - host));
	if (at)
		host = at + 1;
	url.name = name_len(host, end);
	if (url.name == 0 || *end == '\\')
		return -EINVAL;
	path = strcspn(end, "?#");
	query = end[path] == '?' ? strcspn(end + path + 1, "#") : 0;
	/* Four NULs and the '/' of a missing path take more room than the separators between the
	 * parts. */
	url.text = to = malloc(strlen(text) + 8);
	if (!to)
		return -ENOMEM;
	url.scheme = add_url_part(&to, text, scheme);
	url.host = add_url_part(&to, host, (size_t)(end - host));
	url.path = add_url_part(&to, path ? end : "/", path ? path : 1);
	url.query = add_url_part(&to, end + path + (query > 0), query);
	for (char *c = url.scheme; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	/* The header Host does not have the usual port. */
	usual = strcmp(url.scheme, "https") == 0 ? ":443" : ":80";
	len = strlen(url.host);
	port = strlen(usual);
	if (len > port && strcmp(url.host + len - port, usual) == 0)
		url.host[len - port] = '\0';
	*ret = url;
	return 0;
}

void url_release(struct url *url)
{
	free(url->text);
	*url = (struct url){0};
}

int url_place(const char *text, char **ret)
{
	struct url url SCOPE(url_release) = {0};
	int r = url_parse(text, &url);

	if (r < 0)
		return r;
	for (char *c = url.host; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return asprintf(ret, "%s://%s%s", url.scheme, url.host, url.path) < 0 ? -ENOMEM : 0;
}

bool url_same_server(const struct url *a, const struct url *b)
{
	return strcmp(a->scheme, b->scheme) == 0 && strcasecmp(a->host, b->host) == 0;
}

bool url_is_at(const struct url *url, const char *host)
{
	struct url named SCOPE(url_release) = {0};
	size_t room = strlen(url->scheme) + strlen(host) + sizeof("://");
	SCOPE_FREE char *text = malloc(room);

	if (!text)
		return false;
	snprintf(text, room, "%s://%s", url->scheme, host);
	return (url_parse(text, &named) == 0 && url_same_server(url, &named)) ||
	       (strlen(host) == url->name && strncasecmp(host, url->host, url->name) == 0);
}

bool url_is_below(const struct url *url, const char *domain)
{
	size_t tail = strlen(domain);
	const char *at = url->host + url->name - tail;

	return url->name >= tail && strncasecmp(at, domain, tail) == 0 &&
	       (url->name == tail || at[-1] == '.');
}

bool url_has_address(const char *text)
{
	struct url url SCOPE(url_release) = {0};
	struct in_addr address;

	if (url_parse(text, &url) < 0)
		return false;
	url.host[url.name] = '\0';
	return *url.host == '[' || inet_pton(AF_INET, url.host, &address) == 1;
}

bool url_is_here(const struct url *url)
{
	SCOPE_FREE char *name = strndup(url->host, url->name);
	struct in_addr address;

	if (!name)
		return false;
	return strcasecmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0 ||
	       (inet_pton(AF_INET, name, &address) == 1 && ntohl(address.s_addr) >> 24 == 127);
}

static bool is_unreserved(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       strchr("-._~", c);
}

int url_encode(struct buf *buf, const char *text, const char *keep)
{
	for (; *text; text++) {
		if (is_unreserved(*text) || strchr(keep, *text))
			buf_add(buf, text, 1);
		else
			buf_addf(buf, "%%%02X", (unsigned char)*text);
	}
	return buf_adds(buf, "");
}
