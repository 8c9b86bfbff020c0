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

struct place {
	const char *variable, *file_variable;
	bool (*is_for)(const struct url *server, const struct remote_settings *settings);
};

static bool is_hub(const struct url *server, const struct remote_settings *settings)
{
	(void)settings;
	return hub_is_at(server);
}

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

static const struct place places[] = {
	{"HF_TOKEN", "HF_TOKEN_PATH", is_hub},
	{"FOLDFS_TOKEN", "FOLDFS_TOKEN_FILE", is_named},
};

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

/* The file of a login, if there is one. */
static int take_login(struct token *ret, struct err *err)
{
	int r = hub_token_file(&ret->file);

	if (r == 0 && access(ret->file, F_OK) == 0)
		r = token_read(ret, err);
	else if (r == 0)
		r = 1;
	return r < 0 ? r : 0;
}

/* Returns 0, 1 (it is empty) or -errno. */
static int take_token(const char *text, const char *file, const struct place *place,
		      struct token *ret, struct err *err)
{
	int r = text ? set_text(ret, text) : 1;

	if (r == -EINVAL)
		return err_set(err, r, "%s is no token", place->variable);
	if (r != 1 || !file)
		return r;
	free(ret->file);
	ret->file = strdup(file);
	return ret->file ? token_read(ret, err) : -ENOMEM;
}

static int find(const struct url *server, const struct remote_settings *settings, struct token *ret,
		struct err *err)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const struct place *place = &places[i];
		const char *text = environment_get(place->variable);
		const char *file = environment_get(place->file_variable);
		int r;

		if (!text && !file)
			continue;
		if (!place->is_for(server, settings)) {
			ret->of_other = text ? place->variable : place->file_variable;
			continue;
		}
		r = take_token(text, file, place, ret, err);
		if (r != 1)
			return r;
	}
	ret->of_hub = hub_is_at(server);
	return ret->of_hub ? take_login(ret, err) : 0;
}

int token_find(const struct url *server, const struct remote_settings *settings, struct token *ret,
	       struct err *err)
{
	int r = find(server, settings, ret, err);

	if (r == 0 && ret->text && strcmp(server->scheme, "https") != 0 && !url_is_here(server))
		r = err_set(err, -EACCES, "tokens are sent by https only");
	return r;
}

void token_release(struct token *token)
{
	free(token->text);
	free(token->file);
	*token = (struct token){0};
}
