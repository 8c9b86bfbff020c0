#include "remote/credentials.h"
#include "base/scope.h"
#include "remote/answer.h"
#include "remote/credentials_place.h"
#include "remote/environment.h"
#include "remote/token.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void credentials_release(struct credentials *credentials)
{
	free(credentials->access);
	free(credentials->secret);
	free(credentials->token);
	*credentials = (struct credentials){0};
}

int credentials_copy(const char *access, const char *secret, const char *token,
		     struct credentials *ret)
{
	ret->access = token_trim(access);
	ret->secret = token_trim(secret);
	ret->token = token ? token_trim(token) : NULL;
	return ret->access && ret->secret && !ret->token == !token ? 0 : -ENOMEM;
}

int credentials_set_expiration(struct credentials *credentials, const char *text)
{
	struct tm tm = {0};
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	int hours = 0, minutes = 0;
	char sign;

	if (!rest)
		return -EINVAL;
	if (*rest == '.')
		rest += 1 + strspn(rest + 1, "0123456789");
	if (strcmp(rest, "Z") != 0 && sscanf(rest, "%c%2d:%2d", &sign, &hours, &minutes) != 3)
		return -EINVAL;
	if (*rest == '-')
		hours = -hours, minutes = -minutes;
	credentials->expires = (int64_t)timegm(&tm) - (hours * 60 + minutes) * 60;
	return 0;
}

/* The text of a member that has one of two names. Returns 0 or -errno; *ret stays NULL if the
 * member is missing. */
static int member(const char *text, const char *name, const char *other, char **ret)
{
	int r = answer_json(text, name, ret);

	if (r == 1 && other)
		r = answer_json(text, other, ret);
	return r < 0 ? r : 0;
}

int credentials_of_json(const char *text, struct credentials *ret, struct err *err)
{
	SCOPE_FREE char *expiration = NULL;
	int r = member(text, "AccessKeyId", NULL, &ret->access);

	if (r == 0)
		r = member(text, "SecretAccessKey", NULL, &ret->secret);
	if (r == 0)
		r = member(text, "SessionToken", "Token", &ret->token);
	if (r == 0)
		r = member(text, "Expiration", NULL, &expiration);
	if (r == -EINVAL)
		return err_set(err, r, "the answer is no JSON object of credentials");
	if (r < 0)
		return r;
	if (!ret->access || !ret->secret)
		return err_set(err, -EINVAL, "the answer has no %s",
			       ret->access ? "SecretAccessKey" : "AccessKeyId");
	if (expiration && credentials_set_expiration(ret, expiration) < 0)
		return err_set(err, -EINVAL, "'%.64s' is not a date to expire at", expiration);
	return 0;
}

bool credentials_are_google(const char *access, const char *session)
{
	return access && strncmp(access, "GOOG", 4) == 0 && !session;
}

int credentials_of_environment(const struct credentials_ask *ask, struct credentials *ret,
			       struct err *err)
{
	const char *access = environment_get("AWS_ACCESS_KEY_ID");
	const char *secret = environment_get("AWS_SECRET_ACCESS_KEY");
	const char *token = environment_get("AWS_SESSION_TOKEN");

	if (!access && (!secret || ask->google))
		return err_set(err, 1, "AWS_ACCESS_KEY_ID is not set");
	if (ask->google && !credentials_are_google(access, token))
		return err_set(err, 1, "the keys of the environment are Amazon's");
	if (!access || !secret)
		return err_set(err, -EINVAL, "%s is set, but %s is not",
			       access ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
			       access ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
	return credentials_copy(access, secret, token, ret);
}

int credentials_of_token(const struct credentials_ask *ask, struct credentials *ret,
			 struct err *err)
{
	struct url server SCOPE(url_release) = {0};
	struct token token SCOPE(token_release) = {0};
	int r = url_parse(remote_google(ask->settings), &server);

	if (r == 0)
		r = token_find(&server, ask->settings, &token, err);
	if (r < 0)
		return r;
	if (!token.text && token.of_other)
		return err_set(err, 1, "%s is for another server", token.of_other);
	if (!token.text)
		return err_set(err, 1, "FOLDFS_TOKEN is not set%s",
			       environment_get("GOOGLE_APPLICATION_CREDENTIALS")
				       ? " (and GOOGLE_APPLICATION_CREDENTIALS not read: 'gcloud "
					 "auth application-default print-access-token' prints a "
					 "token of it)"
				       : "");
	ret->token = steal_ptr(&token.text);
	return 0;
}

#define AMAZON 1u
#define GOOGLE 2u

static const struct place {
	const char *name;
	credentials_place_fn *find;
	unsigned of;
} credentials_places[] = {
	{"FOLDFS_TOKEN", credentials_of_token, GOOGLE},
	{"the environment", credentials_of_environment, AMAZON | GOOGLE},
	{"web identity", credentials_of_web_identity, AMAZON},
	{"the profile", credentials_of_profile, AMAZON | GOOGLE},
	{"the container", credentials_of_container, AMAZON},
	{"instance metadata", credentials_of_machine, AMAZON},
	{"the metadata server", credentials_of_google, GOOGLE},
};

/* What ends a line would end a header, too. */
static bool ends_line(const char *text)
{
	return text && strpbrk(text, "\r\n");
}

static int find_at(const struct place *place, const struct credentials_ask *ask,
		   struct credentials *ret, struct err *err)
{
	int r = place->find(ask, ret, err);

	if (r == 0 && (ends_line(ret->access) || ends_line(ret->token)))
		return err_set(err, -EINVAL, "the keys of %s have more than one line", place->name);
	return r;
}

int credentials_find(const struct credentials_ask *ask, struct credentials *ret, struct err *err)
{
	struct err all = {"no credentials"};

	for (size_t i = 0; i < sizeof(credentials_places) / sizeof(credentials_places[0]); i++) {
		const struct place *place = &credentials_places[i];
		SCOPE(credentials_release) struct credentials found = {0};
		struct err reason = {0};
		int r;

		if (!(place->of & (ask->google ? GOOGLE : AMAZON)) ||
		    (ask->profile && place->find != credentials_of_profile))
			continue;
		r = find_at(place, ask, &found, &reason);
		if (r < 0)
			return err_set(err, r, "%s", err_text(&reason, r));
		if (r == 0) {
			if (!found.source[0])
				snprintf(found.source, sizeof(found.source), "%s", place->name);
			*ret = found;
			found = (struct credentials){0};
			return 0;
		}
		err_set(&all, 0, "%s%s%s", all.text, strchr(all.text, ':') ? ", " : ": ",
			reason.text);
	}
	return err_set(err, -ENOKEY, "%s", all.text);
}
