/* The places that are asked over HTTP. */
#include "base/io.h"
#include "base/scope.h"
#include "remote/credentials_place.h"
#include "remote/environment.h"
#include "remote/response.h"
#include "remote/token.h"
#include "remote/url.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define TRIES	   2
#define MACHINE_MS 1000	 /* on EC2 it answers within milliseconds, elsewhere never */
#define OTHERS_MS  30000 /* the name of STS may take some of it: remote/curl.c */
#define TOKEN_MAX  65536

/* Asks with one header line (NULL: none). `form`: what is sent, to the internet; NULL: a service
 * that gives keys to this machine alone is asked, through no proxy. What may be a passing failure
 * is tried twice. Returns the status, or -errno. */
static int ask_service(const struct credentials_ask *ask, const char *method, const char *url,
		       const char *header, const char *form, unsigned timeout_ms, struct buf *ret,
		       struct err *err)
{
	SCOPE(buf_release) struct buf headers = BUF_INIT;
	const struct fetch request = {.method = method,
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

int credentials_of_json(const char *text, struct credentials *ret, struct err *err)
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
	if (expiration && credentials_set_expiration(ret, expiration) < 0)
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
		r = credentials_set_expiration(ret, expiration);
	if (r == 1 || r == -EINVAL)
		r = err_set(err, -EINVAL, "the answer of STS has no credentials");
	return r;
}

int credentials_of_role(const struct credentials_ask *ask, const char *token_file, const char *role,
			const char *session, struct credentials *ret, struct err *err)
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

int credentials_of_web_identity(const struct credentials_ask *ask, struct credentials *ret,
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

int credentials_of_container(const struct credentials_ask *ask, struct credentials *ret,
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

int credentials_of_google(const struct credentials_ask *ask, struct credentials *ret,
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

int credentials_of_machine(const struct credentials_ask *ask, struct credentials *ret,
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
