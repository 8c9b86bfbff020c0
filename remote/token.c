#include "remote/token.h"
#include "base/io.h"
#include "base/name.h"
#include "base/scope.h"
#include "remote/environment.h"
#include "remote/hub.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_named(const struct url *server, const struct remote_settings *settings)
{
	const char *host = environment_get("FOLDFS_TOKEN_HOST"), *name = settings->first_url;
	struct url first SCOPE(url_release) = {0};

	if (host)
		return url_is_at(server, host);
	if (name && name_has_scheme(name, "hf"))
		return hub_is_at(server);
	if (name && name_has_scheme(name, "gs"))
		name = remote_google(settings);
	return name && url_parse(name, &first) == 0 && url_same_server(server, &first);
}

char *token_trim(const char *text)
{
	static const char blanks[] = " \t\r\n";
	size_t len;

	text += strspn(text, blanks);
	len = strlen(text);
	while (len > 0 && strchr(blanks, text[len - 1]))
		len--;
	return strndup(text, len);
}

/* A newline would end the header and begin another. Returns 0, 1 (it is empty) or -errno. */
static int set_text(struct token *token, const char *text)
{
	SCOPE_FREE char *copy = token_trim(text);

	if (!copy)
		return -ENOMEM;
	if (!*copy)
		return 1;
	for (const char *c = copy; *c; c++)
		if (*c <= ' ' || *c > '~')
			return -EINVAL;
	free(token->text);
	token->text = steal_ptr(&copy);
	return 0;
}

int token_read(struct token *token, struct err *err)
{
	struct err reason = {0};
	int r = 0;
	SCOPE_FILE FILE *file = io_fopen_given(token->file, &r, &reason);
	SCOPE_FREE char *line = NULL;
	size_t room = 0, len;
	int empty = 1;

	if (!file)
		return err_set(err, r, "%s: %s", token->file, err_text(&reason, r));
	while (r == 0 && empty == 1) {
		r = io_line(file, &line, &room, &len);
		if (r == 0)
			empty = set_text(token, line);
	}
	r = r < 0 ? r : empty;
	return r == -EINVAL ? err_set(err, r, "%s: no token in its first line", token->file)
	       : r < 0	    ? err_set(err, r, "%s: %s", token->file, strerror(-r))
			    : r;
}

int token_find(const struct url *server, const struct remote_settings *settings, struct token *ret,
	       struct err *err)
{
	static const char *const variables[][2] = {{"HF_TOKEN", "HF_TOKEN_PATH"},
						   {"FOLDFS_TOKEN", "FOLDFS_TOKEN_FILE"}};
	int r = 1;

	ret->of_hub = hub_is_at(server);
	for (unsigned i = 0; r == 1 && i < 2; i++) {
		const char *text = environment_get(variables[i][0]);
		const char *file = environment_get(variables[i][1]);

		if (!text && !file)
			continue;
		if (i == 0 ? !ret->of_hub : !is_named(server, settings)) {
			ret->of_other = variables[i][!text];
			continue;
		}
		r = text ? set_text(ret, text) : 1;
		if (r == -EINVAL)
			return err_set(err, r, "%s is not a token", variables[i][0]);
		if (r == 1 && file) {
			free(ret->file);
			ret->file = strdup(file);
			r = ret->file ? token_read(ret, err) : -ENOMEM;
		}
	}
	if (r == 1 && ret->of_hub) {
		/* The file of a login, if there is one. */
		free(ret->file);
		ret->file = NULL;
		r = hub_token_file(&ret->file);
		if (r == 0 && access(ret->file, F_OK) == 0)
			r = token_read(ret, err);
	}
	if (r < 0)
		return r;
	return ret->text && strcmp(server->scheme, "https") != 0 && !url_is_here(server)
		       ? err_set(err, -EACCES, "tokens are sent by https only")
		       : 0;
}

void token_release(struct token *token)
{
	free(token->text);
	free(token->file);
	*token = (struct token){0};
}
