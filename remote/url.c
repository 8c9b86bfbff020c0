#include "remote/url.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The length of the scheme before "://"; 0: there is none. */
static size_t scheme_len(const char *text)
{
	size_t len = 0;

	while (isalnum((unsigned char)text[len]) ||
	       (len > 0 && strchr("+-.", text[len]) && text[len]))
		len++;
	return strncmp(text + len, "://", 3) == 0 ? len : 0;
}

/* The header Host does not have it. */
static void drop_usual_port(struct url *url)
{
	const char *usual = strcmp(url->scheme, "https") == 0 ? ":443" : ":80";
	size_t len = strlen(url->host), port = strlen(usual);

	if (len > port && strcmp(url->host + len - port, usual) == 0)
		url->host[len - port] = '\0';
}

int url_parse(const char *text, struct url *ret)
{
	size_t scheme = scheme_len(text), path, query;
	const char *host = text + scheme + 3, *end, *at;
	struct url url = {0};
	char *to;

	if (scheme == 0)
		return -EINVAL;
	end = host + strcspn(host, "/?#");
	at = memrchr(host, '@', (size_t)(end - host));
	if (at)
		host = at + 1;
	if (host == end)
		return -EINVAL;
	path = strcspn(end, "?#");
	query = end[path] == '?' ? strcspn(end + path + 1, "#") : 0;
	/* Four NULs and the '/' of a missing path take more room than the separators between the
	 * parts. */
	url.text = to = malloc(strlen(text) + 8);
	if (!to)
		return -ENOMEM;
/* NOLINTBEGIN(bugprone-macro-parentheses): the name of a member. */
#define PART(name, from, len)                     \
	do {                                      \
		url.name = memcpy(to, from, len); \
		to += len;                        \
		*to++ = '\0';                     \
	} while (0)
	/* NOLINTEND(bugprone-macro-parentheses) */
	PART(scheme, text, scheme);
	PART(host, host, (size_t)(end - host));
	if (path)
		PART(path, end, path);
	else
		PART(path, "/", 1);
	PART(query, end + path + (query > 0), query);
#undef PART
	for (char *c = url.scheme; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	drop_usual_port(&url);
	*ret = url;
	return 0;
}

void url_release(struct url *url)
{
	free(url->text);
	*url = (struct url){0};
}

bool url_same_server(const struct url *a, const struct url *b)
{
	return strcmp(a->scheme, b->scheme) == 0 && strcasecmp(a->host, b->host) == 0;
}
