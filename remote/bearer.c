#include "remote/bearer.h"
#include "base/io.h"
#include "base/scope.h"
#include "remote/environment.h"
#include "remote/retry.h"
#include "remote/secret.h"
#include "remote/url.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Where tokens are, and for whom. */
struct token_place {
	const char *variable, *file_variable;
	bool (*is_for)(const struct url *url, const char *first_url);
};

struct bearer {
	struct object_auth auth;
	char *line;	      /* "Authorization: Bearer TOKEN"; NULL: there is no token */
	const char *file;     /* the token comes from; NULL: from no file */
	const char *of_other; /* a variable with a token for another server; NULL: none */
};

static struct bearer *bearer_of(struct object_auth *auth)
{
	return (struct bearer *)auth;
}

/* --- tokens ----------------------------------------------------------------------------------- */

/* huggingface.co and its subdomains. */
static bool is_hugging_face(const struct url *url, const char *first_url)
{
	static const char domain[] = "huggingface.co";
	size_t tail = strlen(domain);
	const char *at = url->host + url->name - tail;

	(void)first_url;
	return url->name >= tail && strncasecmp(at, domain, tail) == 0 &&
	       (url->name == tail || at[-1] == '.');
}

static bool is_named(const struct url *url, const char *first_url)
{
	const char *host = environment_get("FOLDFS_TOKEN_HOST");
	struct url first SCOPE(url_release) = {0};

	if (host)
		return url_is_at(url, host);
	return first_url && url_parse(first_url, &first) == 0 && url_same_server(url, &first);
}

static const struct token_place places[] = {
	{"HF_TOKEN", "HF_TOKEN_PATH", is_hugging_face},
	{"FOLDFS_TOKEN", "FOLDFS_TOKEN_FILE", is_named},
};

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
	struct err reason = {0};
	int r = 0;
	SCOPE_FILE FILE *file = io_fopen_given(bearer->file, &r, &reason);
	SCOPE(secret_release) char *line = NULL;
	size_t room = 0, len;

	if (!file)
		return err_set(err, r, "%s: %s", bearer->file, err_text(&reason, r));
	r = io_line(file, &line, &room, &len);
	if (r == 0)
		r = set_token(bearer, line);
	if (r == 1)
		r = -EINVAL;
	return r == -EINVAL ? err_set(err, r, "%s: no token in its first line", bearer->file)
	       : r < 0	    ? err_set(err, r, "%s: %s", bearer->file, strerror(-r))
			    : 0;
}

static int find_token(struct bearer *bearer, const struct url *url, const char *first_url,
		      struct err *err)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const struct token_place *place = &places[i];
		const char *token = environment_get(place->variable);
		const char *file = environment_get(place->file_variable);

		if (!token && !file)
			continue;
		if (!place->is_for(url, first_url)) {
			bearer->of_other = token ? place->variable : place->file_variable;
			continue;
		}
		if (strcmp(url->scheme, "https") != 0 && !url_is_here(url))
			return err_set(err, -EACCES, "tokens are sent by https only");
		if (!token) {
			bearer->file = file;
			return read_token(bearer, err);
		}
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

static int say_refused(const struct bearer *bearer, int error, unsigned status, struct err *err)
{
	if (bearer->line)
		return err_set(err, error, "the server refuses the token (%u): it may have ended",
			       status);
	if (bearer->of_other && strncmp(bearer->of_other, "FOLDFS", 6) == 0)
		return err_set(err, error,
			       "the server refuses it (%u); %s is for another server: "
			       "FOLDFS_TOKEN_HOST names the one that it is sent to",
			       status, bearer->of_other);
	if (!bearer->auth.netrc)
		return err_set(err, error,
			       "the server refuses it (%u), and gets no password, because another "
			       "server's list named it: name it on the command line",
			       status);
	return err_set(err, error,
		       "the server refuses it (%u): a link may have expired; FOLDFS_TOKEN or "
		       "~/.netrc may have what it asks for",
		       status);
}

/* Somebody may have renewed the token in its file. What is not about credentials has been said. */
static int bearer_refused(struct object_auth *auth, const struct object_answer *answer,
			  struct err *err)
{
	struct bearer *bearer = bearer_of(auth);
	SCOPE(secret_release) char *before = bearer->line ? strdup(bearer->line) : NULL;
	int error = retry_rule_of_status(answer->status)->error;

	if (error != -EACCES)
		return error;
	if (bearer->file && before && read_token(bearer, err) == 0 &&
	    strcmp(before, bearer->line) != 0)
		return 0;
	return say_refused(bearer, error, answer->status, err);
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

int bearer_new(const char *text, bool apart, const struct remote_settings *settings,
	       struct object_auth **ret, struct err *err)
{
	struct url url SCOPE(url_release) = {0};
	struct bearer *bearer;
	int r = url_parse(text, &url);

	if (r == -EINVAL)
		return err_set(err, r, "no URL: http://HOST/PATH is one, with %%20 for a blank");
	bearer = r == 0 ? calloc(1, sizeof(*bearer)) : NULL;
	if (!bearer)
		return -ENOMEM;
	bearer->auth = (struct object_auth){.ops = &bearer_ops, .follows = true};
	bearer->auth.url = strdup(text);
	r = bearer->auth.url ? find_token(bearer, &url, settings->first_url, err) : -ENOMEM;
	if (r < 0) {
		bearer_free(&bearer->auth);
		return r;
	}
	bearer->auth.netrc = !bearer->line && !apart;
	*ret = &bearer->auth;
	return 0;
}
