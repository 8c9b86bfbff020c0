#include "remote/bearer.h"
#include "base/io.h"
#include "base/scope.h"
#include "remote/environment.h"
#include "remote/secret.h"
#include "remote/url.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Where to look for tokens for hosts in `domain`; NULL: for all hosts. */
struct token_place {
	const char *domain, *variable, *file_variable;
};

static const struct token_place places[] = {
	{"huggingface.co", "HF_TOKEN", "HF_TOKEN_PATH"},
	{NULL, "FOLDFS_TOKEN", "FOLDFS_TOKEN_FILE"},
};

struct bearer {
	struct object_auth auth;
	char *line;	  /* "Authorization: Bearer TOKEN"; NULL: there is no token */
	const char *file; /* the token comes from; NULL: from no file */
};

static struct bearer *bearer_of(struct object_auth *auth)
{
	return (struct bearer *)auth;
}

/* --- tokens ----------------------------------------------------------------------------------- */

static bool is_within(const char *host, const char *domain)
{
	size_t len = strcspn(host, ":"), tail = strlen(domain);

	return len >= tail && strncasecmp(host + len - tail, domain, tail) == 0 &&
	       (len == tail || host[len - tail - 1] == '.');
}

static bool is_private(const struct url *url)
{
	bool is_number = !url->host[strspn(url->host, "0123456789.:")];

	return strcmp(url->scheme, "https") == 0 || is_within(url->host, "localhost") ||
	       (is_number && strncmp(url->host, "127.", 4) == 0);
}

/* A newline would end the header and begin another. */
static int set_token(struct bearer *bearer, const char *token)
{
	char *line;

	for (const char *c = token; *c; c++)
		if (*c <= ' ' || *c > '~')
			return -EINVAL;
	if (asprintf(&line, "Authorization: Bearer %s", token) < 0)
		return -ENOMEM;
	secret_free(bearer->line);
	bearer->line = line;
	return 0;
}

static int read_token(struct bearer *bearer, struct err *err)
{
	SCOPE_FILE FILE *file = fopen(bearer->file, "re");
	SCOPE(secret_release) char *line = NULL;
	size_t room = 0, len;
	int r = file ? io_line(file, &line, &room, &len) : -errno;

	if (r == 0)
		r = set_token(bearer, line);
	if (r == 1)
		r = -EINVAL;
	return r == -EINVAL ? err_set(err, r, "%s: no token in its first line", bearer->file)
	       : r < 0	    ? err_set(err, r, "%s: %s", bearer->file, strerror(-r))
			    : 0;
}

static int find_token(struct bearer *bearer, const struct url *url, struct err *err)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const struct token_place *place = &places[i];
		const char *token = environment_get(place->variable);

		if (place->domain && !is_within(url->host, place->domain))
			continue;
		bearer->file = environment_get(place->file_variable);
		if (!token && !bearer->file)
			continue;
		if (!is_private(url))
			return err_set(err, -EACCES, "tokens are sent by https only");
		if (!token)
			return read_token(bearer, err);
		bearer->file = NULL;
		return set_token(bearer, token) == -EINVAL
			       ? err_set(err, -EINVAL, "%s is no token", place->variable)
			       : 0;
	}
	return 0;
}

/* --- operations ------------------------------------------------------------------------------- */

static int bearer_sign(struct object_auth *auth, const struct object_request *request,
		       object_header_fn *add, void *context)
{
	const struct bearer *bearer = bearer_of(auth);

	(void)request;
	return bearer->line ? add(context, bearer->line) : 0;
}

static const char *way_out(const struct bearer *bearer, unsigned status)
{
	if (status == 404)
		return "not found (404)";
	if (status == 410)
		return "no longer there (410)";
	if (status == 400)
		return "the server does not understand (400)";
	if (bearer->line)
		return "the server refuses the token (401 or 403): it may have ended";
	return "the server refuses it (401 or 403): a link may have expired; FOLDFS_TOKEN or "
	       "~/.netrc may have what it asks for";
}

/* Somebody may have renewed the token in its file. */
static int bearer_refused(struct object_auth *auth, const struct object_answer *answer,
			  struct err *err)
{
	struct bearer *bearer = bearer_of(auth);
	SCOPE(secret_release) char *before = bearer->line ? strdup(bearer->line) : NULL;
	int error = answer->status == 404 || answer->status == 410 ? -ENOENT
		    : answer->status == 400			   ? -EPROTO
								   : -EACCES;

	if (error == -EACCES && bearer->file && before && read_token(bearer, err) == 0 &&
	    strcmp(before, bearer->line) != 0)
		return 0;
	return err_set(err, error, "%s", way_out(bearer, answer->status));
}

static void bearer_free(struct object_auth *auth)
{
	struct bearer *bearer = bearer_of(auth);

	secret_free(bearer->line);
	free(auth->url);
	free(bearer);
}

static const struct object_auth_ops bearer_ops = {
	.sign = bearer_sign,
	.refused = bearer_refused,
	.free = bearer_free,
};

int bearer_new(const char *text, struct object_auth **ret, struct err *err)
{
	struct url url SCOPE(url_release) = {0};
	struct bearer *bearer;
	int r = url_parse(text, &url);

	if (r == -EINVAL)
		return err_set(err, r, "no URL: http://HOST/PATH is one");
	bearer = r == 0 ? calloc(1, sizeof(*bearer)) : NULL;
	if (!bearer)
		return -ENOMEM;
	bearer->auth = (struct object_auth){.ops = &bearer_ops, .follows = true};
	bearer->auth.url = strdup(text);
	r = bearer->auth.url ? find_token(bearer, &url, err) : -ENOMEM;
	if (r < 0) {
		bearer_free(&bearer->auth);
		return r;
	}
	bearer->auth.netrc = !bearer->line;
	*ret = &bearer->auth;
	return 0;
}
