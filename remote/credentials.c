#include "remote/credentials.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/scope.h"
#include "remote/environment.h"
#include "remote/process.h"
#include "remote/profile.h"
#include "remote/response.h"
#include "remote/token.h"
#include "remote/url.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The places are asked by a function each. These return 0, 1 (no keys here; err says in a few words
 * what is missing) or -errno; *ret may be set in part even on failure. */
typedef int credentials_place_fn(const struct credentials_ask *ask, struct credentials *ret,
				 struct err *err);

#define PROCESS_MS 60000
#define TRIES	   2
#define MACHINE_MS 1000	 /* on EC2 it answers within milliseconds, elsewhere never */
#define OTHERS_MS  30000 /* the name of STS may take some of it: remote/curl.c */
#define TOKEN_MAX  65536

void credentials_release(struct credentials *credentials)
{
	free(credentials->access);
	free(credentials->secret);
	free(credentials->token);
	*credentials = (struct credentials){0};
}

/* --- the environment ------------------------------------------------------------------------- */

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

/* --- services ------------------------------------------------------------------------------- */

/* Asks with one header line (NULL: none). `form`: what is sent, to the internet; NULL: a service
 * that gives keys to this machine alone is asked, through no proxy. What may be a passing failure
 * is tried twice. Returns the status, or -errno. */
static int ask_service(const struct credentials_ask *ask, const char *method, const char *url,
		       const char *header, const char *form, unsigned timeout_ms, struct buf *ret,
		       struct err *err)
{
	SCOPE(buf_release) struct buf headers = BUF_INIT;
	const struct fetch_request request = {.method = method,
					      .url = url,
					      .headers = &headers,
					      .body = form,
					      .timeout_ms = timeout_ms,
					      .direct = !form,
					      .settings = ask->settings,
					      .stops = ask->stops};
	unsigned status = 0;
	int r = -EIO;

	if (header && buf_add(&headers, header, strlen(header) + 1) < 0)
		return -ENOMEM;
	for (int i = 0; i < TRIES; i++) {
		buf_release(ret);
		r = ask->fetch(&request, &status, ret, err);
		if (r == -ENOMEM || r == -ENOSYS || r == -ECANCELED || (r == 0 && status < 500))
			break;
	}
	return r < 0 ? r : (int)status;
}

/* The same of what is there only on machines of a cloud. Returns also 1: it is not. */
static int ask_here(const struct credentials_ask *ask, const char *method, const char *url,
		    const char *header, struct buf *ret)
{
	int r = ask_service(ask, method, url, header, NULL, MACHINE_MS, ret, NULL);

	return r < 0 && r != -ENOMEM && r != -ENOSYS && r != -ECANCELED ? 1 : r;
}

/* It becomes part of a header, so several lines are refused. */
static int check_token(const char *token, const char *from, struct err *err)
{
	return *token && !strpbrk(token, "\r\n")
		       ? 0
		       : err_set(err, -EINVAL, "%s: this is not a token of one line", from);
}

static int read_token(const char *path, char **ret, struct err *err)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	struct err reason = {0};
	SCOPE_CLOSE int fd = io_open_given(path, &reason);
	ssize_t n = fd < 0 ? fd : buf_reserve(&text, TOKEN_MAX + 1);

	if (n == 0)
		n = io_read(fd, text.data, TOKEN_MAX);
	if (n < 0)
		return err_set(err, (int)n, "%s: %s", path, err_text(&reason, (int)n));
	text.data[n == TOKEN_MAX || memchr(text.data, '\0', (size_t)n) ? 0 : n] = '\0';
	*ret = token_trim(text.data);
	return *ret ? check_token(*ret, path, err) : -ENOMEM;
}

/* --- answers -------------------------------------------------------------------------------- */

static int set_expiration(struct credentials *credentials, const char *text)
{
	int64_t date;

	if (response_time(text, &date) != 0)
		return -EINVAL;
	credentials->expires = date / (int64_t)CLOCK_SECOND;
	return 0;
}

/* What processes and metadata services answer with. Returns 0, -EINVAL or -ENOMEM. */
static int credentials_of_json(const char *text, struct credentials *ret, struct err *err)
{
	SCOPE_FREE char *expiration = NULL;
	const struct {
		const char *name;
		char **to;
	} members[] = {{"AccessKeyId", &ret->access},
		       {"SecretAccessKey", &ret->secret},
		       {"SessionToken", &ret->token},
		       {"Token", &ret->token},
		       {"Expiration", &expiration}};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < sizeof(members) / sizeof(members[0]); i++)
		if (!*members[i].to)
			r = response_json(text, members[i].name, members[i].to);
	if (r == -EINVAL)
		return err_set(err, r, "the answer is no JSON object of credentials");
	if (r < 0)
		return r;
	if (!ret->access || !ret->secret)
		return err_set(err, -EINVAL, "the answer has no %s",
			       ret->access ? "SecretAccessKey" : "AccessKeyId");
	if (expiration && set_expiration(ret, expiration) < 0)
		return err_set(err, -EINVAL, "'%.64s' is not a date to expire at", expiration);
	return 0;
}

/* --- web identity --------------------------------------------------------------------------- */

static int add_sts_url(const struct credentials_ask *ask, struct buf *ret)
{
	const char *url =
		environment_get("AWS_ENDPOINT_URL_STS") ?: environment_get("AWS_ENDPOINT_URL");
	bool fips = environment_is_true("AWS_USE_FIPS_ENDPOINT");

	if (url && !environment_is_true("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"))
		return buf_adds(ret, url);
	if (!ask->region && !fips)
		return buf_adds(ret, "https://sts.amazonaws.com/");
	return buf_addf(ret, "https://sts%s.%s.%s/", fips ? "-fips" : "",
			ask->region ?: "us-east-1", ask->domain);
}

static int read_role_answer(const char *body, struct credentials *ret, struct err *err)
{
	SCOPE_FREE char *expiration = NULL;
	int r = response_xml(body, "AccessKeyId", &ret->access);

	if (r == 0)
		r = response_xml(body, "SecretAccessKey", &ret->secret);
	if (r == 0)
		r = response_xml(body, "SessionToken", &ret->token);
	if (r == 0)
		r = response_xml(body, "Expiration", &expiration);
	if (r == 0)
		r = set_expiration(ret, expiration);
	if (r == 1 || r == -EINVAL)
		r = err_set(err, -EINVAL, "the answer of STS has no credentials");
	return r;
}

/* Asks STS for the keys of a role, with the token in a file. */
static int credentials_of_role(const struct credentials_ask *ask, const char *token_file,
			       const char *role, const char *session, struct credentials *ret,
			       struct err *err)
{
	SCOPE_FREE char *token = NULL, *code = NULL, *message = NULL;
	SCOPE(buf_release) struct buf form = BUF_INIT;
	SCOPE(buf_release) struct buf answer = BUF_INIT;
	SCOPE(buf_release) struct buf url = BUF_INIT;
	int r = read_token(token_file, &token, err);

	if (r < 0)
		return r;
	buf_adds(&form, "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=");
	url_encode(&form, role, "");
	buf_adds(&form, "&RoleSessionName=");
	url_encode(&form, session ?: "foldfs", "");
	buf_adds(&form, "&WebIdentityToken=");
	r = url_encode(&form, token, "");
	if (r == 0)
		r = add_sts_url(ask, &url);
	if (r == 0)
		r = ask_service(ask, "POST", url.data,
				"Content-Type: application/x-www-form-urlencoded", form.data,
				OTHERS_MS, &answer, err);
	if (r < 0)
		return r;
	if (r == 200)
		return read_role_answer(answer.data, ret, err);
	response_xml(answer.data, "Code", &code);
	response_xml(answer.data, "Message", &message);
	return err_set(err, -EACCES, "STS gives no keys of the role %.100s: %d %.64s: %.200s", role,
		       r, code ?: "", message ?: "");
}

static int credentials_of_web_identity(const struct credentials_ask *ask, struct credentials *ret,
				       struct err *err)
{
	const char *file = environment_get("AWS_WEB_IDENTITY_TOKEN_FILE");
	const char *role = environment_get("AWS_ROLE_ARN");

	if (!file)
		return err_set(err, 1, "AWS_WEB_IDENTITY_TOKEN_FILE is not set");
	if (!role)
		return err_set(err, -EINVAL,
			       "AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not");
	return credentials_of_role(ask, file, role, environment_get("AWS_ROLE_SESSION_NAME"), ret,
				   err);
}

/* --- the profile ----------------------------------------------------------------------------- */

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
	int r = profile_open(ask->settings->profile, &profile, err);

	/* AWS_PROFILE is not about Google's. */
	if (r == -ENOENT && ask->google && !ask->settings->profile)
		return 1;
	if (r == 0)
		r = keys_of_profile(ask, profile, ret, err);
	if (r == 0)
		snprintf(ret->source, sizeof(ret->source), "profile '%.64s'",
			 profile_name(profile));
	return r;
}

/* --- container ------------------------------------------------------------------------------ */

/* Over http, tokens are sent to this machine and to the services of ECS and EKS only. */
static bool may_ask(const char *text)
{
	static const char *const hosts[] = {"169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"};
	struct url url SCOPE(url_release) = {0};
	bool here;

	if (url_parse(text, &url) < 0)
		return false;
	if (strcmp(url.scheme, "https") == 0)
		return true;
	here = url_is_here(&url);
	for (size_t i = 0; !here && i < sizeof(hosts) / sizeof(hosts[0]); i++)
		here = url_is_at(&url, hosts[i]);
	return here && strcmp(url.scheme, "http") == 0;
}

/* Appends the header Authorization, if there is a token. */
static int add_container_token(struct buf *ret, struct err *err)
{
	static const char variable[] = "AWS_CONTAINER_AUTHORIZATION_TOKEN";
	const char *file = environment_get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	const char *text = environment_get(variable);
	SCOPE_FREE char *token = file || !text ? NULL : token_trim(text);
	int r = file ? read_token(file, &token, err) : 0;

	if (r == 0 && !file && token && *token)
		r = check_token(token, variable, err);
	return r < 0 || !token || !*token ? r : buf_addf(ret, "Authorization: %s", token);
}

static int credentials_of_container(const struct credentials_ask *ask, struct credentials *ret,
				    struct err *err)
{
	const char *relative = environment_get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *full = environment_get("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	SCOPE(buf_release) struct buf authorization = BUF_INIT;
	SCOPE(buf_release) struct buf answer = BUF_INIT;
	SCOPE(buf_release) struct buf url = BUF_INIT;
	int r;

	if (!relative && !full)
		return err_set(err, 1, "AWS_CONTAINER_CREDENTIALS_* are not set");
	r = buf_addf(&url, "%s%s", relative ? "http://169.254.170.2" : "",
		     relative ? relative : full);
	if (r == 0 && !may_ask(url.data))
		return err_set(err, -EINVAL,
			       "AWS_CONTAINER_CREDENTIALS_*: no token is sent to %.200s without "
			       "https",
			       url.data);
	if (r == 0)
		r = add_container_token(&authorization, err);
	if (r == 0)
		r = ask_service(ask, "GET", url.data, authorization.data, NULL, OTHERS_MS, &answer,
				err);
	if (r >= 0 && r != 200)
		r = err_set(err, -EACCES, "%.200s: %d instead of credentials", url.data, r);
	return r < 0 ? r : credentials_of_json(answer.data, ret, err);
}

/* --- Google --------------------------------------------------------------------------------- */

/* A token of the machine opens more than buckets. */
static bool is_of_google(const char *endpoint)
{
	struct url url SCOPE(url_release) = {0};

	return url_parse(endpoint, &url) == 0 &&
	       (url_is_here(&url) ||
		(strcmp(url.scheme, "https") == 0 && url_is_below(&url, "googleapis.com")));
}

static int credentials_of_google(const struct credentials_ask *ask, struct credentials *ret,
				 struct err *err)
{
	static const char path[] = "computeMetadata/v1/instance/service-accounts/default/token";
	const char *host = environment_get("GCE_METADATA_HOST") ?: "metadata.google.internal";
	SCOPE(buf_release) struct buf answer = BUF_INIT;
	SCOPE(buf_release) struct buf url = BUF_INIT;
	SCOPE_FREE char *seconds = NULL;
	int r;

	if (!is_of_google(remote_google(ask->settings)))
		return err_set(err, 1, "a token of the machine is for Google's servers only");
	if (buf_addf(&url, "http://%s/%s", host, path) < 0)
		return -ENOMEM;
	r = ask_here(ask, "GET", url.data, "Metadata-Flavor: Google", &answer);
	if (r < 0)
		return r;
	if (r == 1)
		return err_set(err, 1, "no metadata server at %.200s", host);
	if (r != 200)
		return err_set(err, 1, "the metadata server has no token: %d", r);
	r = response_json(answer.data, "access_token", &ret->token);
	if (r == 0)
		r = response_json(answer.data, "expires_in", &seconds);
	if (r == -ENOMEM)
		return r;
	if (r != 0 || strlen(seconds) > 9 || strspn(seconds, "0123456789") != strlen(seconds) ||
	    strpbrk(ret->token, "\r\n"))
		return err_set(err, -EINVAL, "the answer of the metadata server has no token");
	ret->expires = time(NULL) + strtoll(seconds, NULL, 10);
	return 0;
}

/* --- machine -------------------------------------------------------------------------------- */

/* Gets the body of an answer 200. Any other answer means that there are no credentials here. */
static int ask_machine(const struct credentials_ask *ask, const char *method, const char *path,
		       const char *header, struct buf *ret, struct err *err)
{
	const char *base = environment_get("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	const char *mode = environment_get("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
	SCOPE(buf_release) struct buf url = BUF_INIT;
	size_t len;
	int r;

	if (!base)
		base = mode && strcasecmp(mode, "IPv6") == 0 ? "http://[fd00:ec2::254]"
							     : "http://169.254.169.254";
	len = strlen(base);
	if (buf_addf(&url, "%.*s/latest/%s", (int)(len - (base[len - 1] == '/')), base, path) < 0)
		return -ENOMEM;
	r = ask_here(ask, method, url.data, header, ret);
	if (r == 1)
		return err_set(err, 1, "no metadata service at %s", base);
	if (r < 0)
		return r;
	return r == 200 ? 0 : err_set(err, 1, "%s has no role: %d", base, r);
}

static int credentials_of_machine(const struct credentials_ask *ask, struct credentials *ret,
				  struct err *err)
{
	static const char roles[] = "meta-data/iam/security-credentials/";
	SCOPE(buf_release) struct buf token = BUF_INIT;
	SCOPE(buf_release) struct buf header = BUF_INIT;
	SCOPE(buf_release) struct buf answer = BUF_INIT;
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r;

	if (environment_is_true("AWS_EC2_METADATA_DISABLED"))
		return err_set(err, 1, "AWS_EC2_METADATA_DISABLED is true");
	r = ask_machine(ask, "PUT", "api/token", "X-aws-ec2-metadata-token-ttl-seconds: 21600",
			&token, err);
	if (r == 0)
		r = buf_addf(&header, "X-aws-ec2-metadata-token: %.*s",
			     (int)strcspn(token.data, "\r\n"), token.data);
	if (r == 0)
		r = ask_machine(ask, "GET", roles, header.data, &answer, err);
	if (r == 0)
		r = buf_addf(&path, "%s%.*s", roles, (int)strcspn(answer.data, "\r\n"),
			     answer.data);
	if (r == 0)
		r = ask_machine(ask, "GET", path.data, header.data, &answer, err);
	return r ? r : credentials_of_json(answer.data, ret, err);
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
		    (ask->settings->profile && place->find != credentials_of_profile))
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
