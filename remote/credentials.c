#include "remote/credentials.h"
#include "base/scope.h"
#include "remote/credentials_place.h"
#include "remote/environment.h"
#include "remote/process.h"
#include "remote/profile.h"
#include "remote/token.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PROCESS_MS 60000

void credentials_release(struct credentials *credentials)
{
	free(credentials->access);
	free(credentials->secret);
	free(credentials->token);
	*credentials = (struct credentials){0};
}

/* Static keys, without blanks around them; `token` may be NULL. */
static int credentials_copy(const char *access, const char *secret, const char *token,
			    struct credentials *ret)
{
	ret->access = token_trim(access);
	ret->secret = token_trim(secret);
	ret->token = token ? token_trim(token) : NULL;
	return ret->access && ret->secret && !ret->token == !token ? 0 : -ENOMEM;
}

/* Whether keys are of Google, whose ids begin like this, and not of Amazon, or of a session of it.
 */
static bool credentials_are_google(const char *access, const char *session)
{
	return access && strncmp(access, "GOOG", 4) == 0 && !session;
}

static int credentials_of_environment(const struct credentials_ask *ask, struct credentials *ret,
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

static int credentials_of_token(const struct credentials_ask *ask, struct credentials *ret,
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

static int keys_of_process(const struct credentials_ask *ask, const struct profile *profile,
			   const char *const argv[], const char *what, struct credentials *ret,
			   struct err *err)
{
	SCOPE(buf_release) struct buf output = BUF_INIT;
	struct err reason = {0};
	int r = process_output(argv, PROCESS_MS, ask->stops, &output);

	if (r == -ENOENT)
		return err_set(err, r, "profile '%s' needs the program '%s', which is not in PATH",
			       profile_name(profile), argv[0]);
	if (r == -EIO)
		err_set(&reason, r, "it failed");
	if (r == 0)
		r = credentials_of_json(output.data, ret, &reason);
	if (r == 0)
		return 0;
	return err_set(err, r, "%s of profile '%s': %s", what, profile_name(profile),
		       err_text(&reason, r));
}

static int keys_of_profile(const struct credentials_ask *ask, const struct profile *profile,
			   struct credentials *ret, struct err *err)
{
	const char *token_file = profile_get(profile, "web_identity_token_file");
	const char *role = profile_get(profile, "role_arn");
	const char *command = profile_get(profile, "credential_process");
	/* Where there is one of these, only the AWS tool finds the keys. */
	bool needs_tool = role || profile_get(profile, "sso_session") ||
			  profile_get(profile, "sso_start_url") ||
			  profile_get(profile, "login_session");
	const char *const shell[] = {"/bin/sh", "-c", command, NULL};
	const char *const tool[] = {"aws",
				    "configure",
				    "export-credentials",
				    "--profile",
				    profile_name(profile),
				    "--format",
				    "process",
				    NULL};
	struct profile_keys keys = {0};

	if (token_file && role && !ask->google)
		return credentials_of_role(ask, token_file, role,
					   profile_get(profile, "role_session_name"), ret, err);
	if (needs_tool && !ask->google)
		return keys_of_process(ask, profile, tool, "aws configure export-credentials", ret,
				       err);
	profile_keys(profile, &keys);
	if (keys.access && ask->google && !credentials_are_google(keys.access, keys.token))
		return err_set(err, 1, "the keys of profile '%s' are Amazon's",
			       profile_name(profile));
	if (keys.access && !keys.secret)
		return err_set(err, -EINVAL,
			       "profile '%s' has aws_access_key_id, but no aws_secret_access_key",
			       profile_name(profile));
	if (keys.access)
		return credentials_copy(keys.access, keys.secret, keys.token, ret);
	if (command && !ask->google)
		return keys_of_process(ask, profile, shell, "credential_process", ret, err);
	return err_set(err, 1, "no keys of profile '%s' in %s", profile_name(profile),
		       profile_files(profile));
}

static int credentials_of_profile(const struct credentials_ask *ask, struct credentials *ret,
				  struct err *err)
{
	SCOPE(profile_release) struct profile *profile = NULL;
	int r = profile_open(ask->profile, &profile, err);

	/* AWS_PROFILE is not about Google's. */
	if (r == -ENOENT && ask->google && !ask->profile)
		return 1;
	if (r == 0)
		r = keys_of_profile(ask, profile, ret, err);
	if (r == 0)
		snprintf(ret->source, sizeof(ret->source), "profile '%.64s'",
			 profile_name(profile));
	return r;
}

/* --- all of them ------------------------------------------------------------------------------ */

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
		r = place->find(ask, &found, &reason);
		if (r == 0 && (ends_line(found.access) || ends_line(found.token)))
			r = err_set(&reason, -EINVAL, "the keys of %s have more than one line",
				    place->name);
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
