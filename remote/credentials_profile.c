#include "base/scope.h"
#include "remote/credentials_place.h"
#include "remote/process.h"
#include "remote/profile.h"
#include <errno.h>
#include <stdio.h>

#define PROCESS_MS 60000

static int of_process(const struct credentials_ask *ask, const struct profile *profile,
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

/* Whether only the AWS tool can find the keys of the profile. */
static bool needs_tool(const struct profile *profile)
{
	static const char *const names[] = {"role_arn", "sso_session", "sso_start_url",
					    "login_session"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (profile_get(profile, names[i]))
			return true;
	return false;
}

static int of_profile(const struct credentials_ask *ask, const struct profile *profile,
		      struct credentials *ret, struct err *err)
{
	const char *token_file = profile_get(profile, "web_identity_token_file");
	const char *role = profile_get(profile, "role_arn");
	const char *command = profile_get(profile, "credential_process");
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
	if (needs_tool(profile) && !ask->google)
		return of_process(ask, profile, tool, "aws configure export-credentials", ret, err);
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
		return of_process(ask, profile, shell, "credential_process", ret, err);
	return err_set(err, 1, "no keys of profile '%s' in %s", profile_name(profile),
		       profile_files(profile));
}

int credentials_of_profile(const struct credentials_ask *ask, struct credentials *ret,
			   struct err *err)
{
	SCOPE(profile_release) struct profile *profile = NULL;
	int r = profile_open(ask->profile, &profile, err);

	/* AWS_PROFILE is not about Google's. */
	if (r == -ENOENT && ask->google && !ask->profile)
		return 1;
	if (r == 0)
		r = of_profile(ask, profile, ret, err);
	if (r == 0)
		snprintf(ret->source, sizeof(ret->source), "profile '%.64s'",
			 profile_name(profile));
	return r;
}
