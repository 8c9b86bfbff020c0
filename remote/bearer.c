#include "remote/bearer.h"
#include "base/scope.h"
#include "remote/retry.h"
#include "remote/token.h"
#include <errno.h>
#include <string.h>

struct bearer {
	struct object_auth auth;
	struct token token;
};

static struct bearer *bearer_of(struct object_auth *auth)
{
	return (struct bearer *)auth;
}

/* --- operations ------------------------------------------------------------------------------- */

static int bearer_sign(struct object_auth *auth, const struct url *url, struct buf *headers,
		       struct err *err)
{
	const char *token = bearer_of(auth)->token.text;

	(void)url;
	(void)err;
	return token ? header_add(headers, "Authorization: Bearer %s", token) : 0;
}

static int say_bearer_refused(const struct bearer *bearer, int error, unsigned status,
			      struct err *err)
{
	if (bearer->token.text)
		return err_set(err, error, "the server refuses the token (%u): it may have ended",
			       status);
	if (bearer->token.of_hub)
		return err_set(err, error,
			       "the server refuses it (%u): there is no such dataset, or it asks "
			       "for a token: 'hf auth login', or HF_TOKEN",
			       status);
	if (bearer->token.of_other && strncmp(bearer->token.of_other, "FOLDFS", 6) == 0)
		return err_set(err, error,
			       "the server refuses it (%u); %s is for another server: "
			       "FOLDFS_TOKEN_HOST names the one that it is sent to",
			       status, bearer->token.of_other);
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
	struct token *token = &bearer->token;
	SCOPE_FREE char *before = token->text ? strdup(token->text) : NULL;
	int error = retry_rule_of_status(answer->status)->error;

	if (error != -EACCES)
		return error;
	if (token->file && before && token_read(token, err) == 0 &&
	    strcmp(before, token->text) != 0)
		return 0;
	return say_bearer_refused(bearer, error, answer->status, err);
}

static void bearer_free(struct object_auth *auth)
{
	struct bearer *bearer = bearer_of(auth);

	token_release(&bearer->token);
	free(auth->url);
	free(auth->place);
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
	r = bearer->auth.url ? url_place(text, &bearer->auth.place) : -ENOMEM;
	if (r == 0)
		r = token_find(&url, settings, &bearer->token, err);
	if (r < 0) {
		bearer_free(&bearer->auth);
		return r;
	}
	if (bearer->token.of_hub)
		bearer->auth.elsewhere = "; HF_ENDPOINT names another";
	bearer->auth.netrc = !bearer->token.text && !apart;
	*ret = &bearer->auth;
	return 0;
}
