#include "remote/s3.h"
#include "base/name.h"
#include "base/scope.h"
#include "remote/environment.h"
#include "remote/profile.h"
#include "remote/s3_keys.h"
#include "remote/sign.h"
#include "remote/url.h"
#include <ctype.h>
#include <string.h>
#include <time.h>

#define MOVES 3 /* at most: an endpoint of one region sends requests for others back */

/* --- URLs ------------------------------------------------------------------------------------- */

static bool consists_of(const char *text, size_t len, const char *others)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr(others, text[i]))
			return false;
	return len > 0;
}

/* Hosts are in lower case; Amazon's certificate is for *.s3.REGION.amazonaws.com, without dots. */
static bool fits_host(const char *bucket, size_t len, const char *others)
{
	for (size_t i = 0; i < len; i++)
		if (isupper((unsigned char)bucket[i]))
			return false;
	return len <= 63 && consists_of(bucket, len, others);
}

/* The last one is for all other regions. */
static const struct partition {
	const char *prefix, *domain;
} partitions[] = {{"cn-", "amazonaws.com.cn"},	  {"us-gov-", "amazonaws.com"},
		  {"eusc-", "amazonaws.eu"},	  {"us-iso-", "c2s.ic.gov"},
		  {"us-isob-", "sc2s.sgov.gov"},  {"us-isof-", "csp.hci.ic.gov"},
		  {"eu-isoe-", "cloud.adc-e.uk"}, {"", "amazonaws.com"}};

static const struct partition *partition_of(const char *region)
{
	const struct partition *at = partitions;

	while (strncmp(region, at->prefix, strlen(at->prefix)) != 0)
		at++;
	return at;
}

/* Up to the path. */
static void add_base(struct buf *url, const struct s3_place *place, const char *host_bucket,
		     size_t len)
{
	const char *endpoint = place->endpoint, *dot = len ? "." : "";
	int scheme = endpoint ? (int)(name_scheme(endpoint) + strlen("://")) : 0;
	size_t end = endpoint ? strlen(endpoint) : 0;

	while (end > 0 && endpoint[end - 1] == '/')
		end--;
	if (endpoint)
		buf_addf(url, "%.*s%.*s%s%.*s", scheme, endpoint, (int)len, host_bucket, dot,
			 (int)end - scheme, endpoint + scheme);
	else
		buf_addf(url, "https://%.*s%ss3%s%s.%s.%s", (int)len, host_bucket, dot,
			 place->fips ? "-fips" : "", place->dualstack ? ".dualstack" : "",
			 place->region, partition_of(place->region)->domain);
}

/* What Amazon has that looks like a bucket, and is asked in another way. */
static const char *find_other_kind(const char *bucket, size_t len)
{
	static const struct {
		const char *suffix, *kind;
	} kinds[] = {{"--x-s3", "a directory bucket (S3 Express)"},
		     {"--xa-s3", "an access point of a directory bucket (S3 Express)"},
		     {"--ol-s3", "an access point of Object Lambda"},
		     {".mrap", "an access point of several regions"}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t end = strlen(kinds[i].suffix);

		if (len > end && strncmp(bucket + len - end, kinds[i].suffix, end) == 0)
			return kinds[i].kind;
	}
	return NULL;
}

static int check_bucket(const char *bucket, size_t len, bool amazon, struct err *err)
{
	const char *kind = amazon ? find_other_kind(bucket, len) : NULL;

	if (memchr(bucket, '@', len))
		return err_set(err, -EINVAL,
			       "no user and no password go in front of the bucket: "
			       "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or '--profile', have "
			       "the keys");
	if (strncmp(bucket, "arn:", 4) == 0)
		return err_set(err, -EINVAL,
			       "an ARN is not read: name the bucket, or the alias of the access "
			       "point, as s3://NAME-s3alias/KEY");
	if (kind)
		return err_set(err, -EINVAL,
			       "'%.*s' is %s, which is not read: a bucket for general purposes "
			       "is, or a presigned URL",
			       (int)len, bucket, kind);
	if (!consists_of(bucket, len, "-._:"))
		return err_set(err, -EINVAL, "'%.*s' is not the name of a bucket", (int)len,
			       bucket);
	return 0;
}

static int check_endpoint(const char *endpoint, struct err *err)
{
	struct url url SCOPE(url_release) = {0};
	SCOPE_FREE char *shown = NULL;

	if (url_parse(endpoint, &url) == 0 && strncmp(url.scheme, "http", 4) == 0)
		return 0;
	shown = name_shown(endpoint);
	return err_set(err, -EINVAL,
		       "the endpoint '%s' is not a URL: it begins with https:// or http://",
		       shown ? shown : "");
}

/* Whether the bucket goes in front of the host's name, of which an address has none. */
static bool is_in_host(const struct s3_place *place, const char *bucket, size_t len)
{
	if (place->style == S3_PATH)
		return false;
	if (!place->endpoint)
		return fits_host(bucket, len, "-");
	return place->style == S3_VIRTUAL && fits_host(bucket, len, "-.") &&
	       !url_has_address(place->endpoint);
}

const char *s3_key(const char *name)
{
	const char *bucket = name + name_scheme(name) + strlen("://");
	const char *key = bucket + strcspn(bucket, "/");

	return key + (*key == '/');
}

int s3_url(const char *name, const struct s3_place *place, char **ret, struct err *err)
{
	SCOPE(buf_release) struct buf url = BUF_INIT;
	const char *bucket = name + name_scheme(name) + strlen("://");
	size_t len = strcspn(bucket, "/");
	bool in_host;
	int r = check_bucket(bucket, len, !place->endpoint, err);

	if (r < 0)
		return r;
	if (!consists_of(place->region, strlen(place->region), "-"))
		return err_set(err, -EINVAL, "'%s' is not a region", place->region);
	if (place->endpoint)
		r = check_endpoint(place->endpoint, err);
	if (r < 0)
		return r;
	in_host = is_in_host(place, bucket, len);
	add_base(&url, place, bucket, in_host ? len : 0);
	if (!in_host)
		buf_adds(&url, "/");
	r = url_encode(&url, in_host ? bucket + len : bucket, "/");
	if (r == 0)
		*ret = steal_ptr(&url.data);
	return r;
}

/* --- an object -------------------------------------------------------------------------------- */

struct s3_auth {
	struct object_auth auth; /* first */
	const struct remote_settings *settings;
	struct s3_keys *keys;
	bool google;
	char *name;
	char *endpoint;	    /* NULL: Amazon's */
	char *asked_region; /* NULL: the user did not name one */
	unsigned moves;
	char *region;	       /* like auth.url, used by the calling thread only */
	struct s3_place place; /* of these */
};

static struct s3_auth *s3_of(struct object_auth *auth)
{
	return (struct s3_auth *)auth;
}

/* --- place ---------------------------------------------------------------------------------- */

static int copy_text(const char *text, char **ret)
{
	*ret = text ? strdup(text) : NULL;
	return text && !*ret ? -ENOMEM : 0;
}

/* A variable, or otherwise the profile. */
static bool is_wanted(const char *variable, const struct profile *profile, const char *name)
{
	const char *value = environment_get(variable) ?: profile_get(profile, name);

	return value && strcasecmp(value, "true") == 0;
}

static int find_amazon(struct s3_auth *s3, struct err *err)
{
	SCOPE(profile_release) struct profile *profile = NULL;
	const char *endpoint = s3->settings->endpoint, *region = s3->settings->region, *style;
	int r = profile_open(s3->settings->profile, &profile, err);

	if (r < 0)
		return r;
	if (!environment_is_true("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"))
		endpoint = endpoint
				   ?: environment_get("AWS_ENDPOINT_URL_S3")
				   ?: environment_get("AWS_ENDPOINT_URL")
				   ?: profile_service(profile, "s3", "endpoint_url")
				   ?: profile_get(profile, "endpoint_url");
	region = region
			 ?: environment_get("AWS_REGION")
			 ?: environment_get("AWS_DEFAULT_REGION")
			 ?: profile_get(profile, "region");
	style = profile_get(profile, "s3.addressing_style") ?: "auto";
	s3->place.style = strcmp(style, "virtual") == 0 ? S3_VIRTUAL
			  : strcmp(style, "path") == 0	? S3_PATH
							: S3_AUTO;
	s3->place.fips = is_wanted("AWS_USE_FIPS_ENDPOINT", profile, "use_fips_endpoint");
	s3->place.dualstack =
		is_wanted("AWS_USE_DUALSTACK_ENDPOINT", profile, "use_dualstack_endpoint");
	r = copy_text(endpoint, &s3->endpoint);
	return r < 0 ? r : copy_text(region, &s3->asked_region);
}

/* A bucket has one, whatever its region, and however it is asked for; in each partition of Amazon,
 * there may be one of that name. */
static int find_lasting_place(struct s3_auth *s3, struct err *err)
{
	struct s3_place place = {.endpoint = s3->endpoint, .region = s3->region, .style = S3_PATH};
	SCOPE_FREE char *amazon = NULL, *url = NULL;
	int r;

	if (!s3->endpoint &&
	    asprintf(&amazon, "https://s3.%samazon", partition_of(s3->region)->prefix) < 0) {
		amazon = NULL;
		return -ENOMEM;
	}
	place.endpoint = s3->endpoint ?: amazon;
	r = s3_url(s3->name, &place, &url, err);
	return r < 0 ? r : url_place(url, &s3->auth.place);
}

static int find_place(struct s3_auth *s3, const char *name, struct err *err)
{
	const char *usual = s3->google ? "auto" : "us-east-1";
	int r = copy_text(name, &s3->name);

	if (r == 0 && !s3->google)
		r = find_amazon(s3, err);
	if (r == 0 && s3->google)
		r = copy_text(remote_google(s3->settings), &s3->endpoint);
	if (r == 0 && s3->google)
		r = copy_text(s3->settings->region, &s3->asked_region);
	if (r == 0)
		r = copy_text(s3->asked_region ?: usual, &s3->region);
	s3->place.endpoint = s3->endpoint;
	s3->place.region = s3->region;
	if (r == 0)
		r = s3_url(name, &s3->place, &s3->auth.url, err);
	return r < 0 ? r : find_lasting_place(s3, err);
}

/* Moves to the region, or to the style, that a server wants. */
static int move(struct s3_auth *s3, const struct s3_refusal *refusal, struct err *err)
{
	SCOPE_FREE char *region = strdup(refusal->region ?: s3->region);
	struct s3_place place = s3->place;
	char *url;
	int r;

	place.region = region;
	if (refusal->kind == S3_OTHER_STYLE)
		place.style = S3_VIRTUAL;
	r = region ? s3_url(s3->name, &place, &url, err) : -ENOMEM;
	if (r < 0)
		return r;
	free(s3->auth.url);
	free(s3->region);
	s3->auth.url = url;
	s3->region = steal_ptr(&region);
	s3->place = place;
	return 0;
}

/* --- requests ------------------------------------------------------------------------------- */

/* Adds headers, and signs them and the host. */
static int sign_with(const struct s3_auth *s3, const struct url *url, struct buf *lines)
{
	const struct credentials *keys = &s3->keys->found;
	SCOPE(buf_release) struct buf authorization = BUF_INIT;
	char date[sizeof("20130524T000000Z")];
	struct sign_header headers[5] = {{"host", url->host},
					 {"x-amz-content-sha256", SIGN_UNSIGNED_PAYLOAD},
					 {"x-amz-date", date}};
	struct sign_key key = {keys->access, keys->secret, date, s3->region, "s3"};
	struct sign_request to_sign = {.method = "GET",
				       .path = url->path,
				       .query = url->query,
				       .headers = headers,
				       .count = 3,
				       .payload = SIGN_UNSIGNED_PAYLOAD};
	time_t now = time(NULL);
	struct tm tm;
	int r = 0;

	strftime(date, sizeof(date), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
	if (s3->settings->requester_pays && !s3->google)
		headers[to_sign.count++] = (struct sign_header){"x-amz-request-payer", "requester"};
	if (keys->token)
		headers[to_sign.count++] =
			(struct sign_header){"x-amz-security-token", keys->token};
	for (size_t i = 1; r == 0 && i < to_sign.count; i++)
		r = header_add(lines, "%s: %s", headers[i].name, headers[i].value);
	if (r == 0)
		r = sign_authorization(&to_sign, &key, &authorization);
	return r < 0 ? r : header_add(lines, "Authorization: %s", authorization.data);
}

static int s3_auth_sign(struct object_auth *auth, const struct url *url, struct buf *headers,
			struct err *err)
{
	struct s3_auth *s3 = s3_of(auth);
	int r = s3_keys_look(s3->keys, err);

	if (r < 0)
		return r;
	SCOPE_LOCK(&s3->keys->lock);
	if (s3->keys->state != KEYS_GOOD)
		return 0;
	return s3->keys->found.access
		       ? sign_with(s3, url, headers)
		       : header_add(headers, "Authorization: Bearer %s", s3->keys->found.token);
}

/* --- refusals ------------------------------------------------------------------------------- */

static int s3_auth_refused(struct object_auth *auth, const struct object_answer *answer,
			   struct err *err)
{
	struct s3_auth *s3 = s3_of(auth);
	SCOPE(s3_refusal_release) struct s3_refusal refusal = {0};
	int r = s3_refusal_read(answer, &refusal);

	if (r < 0)
		return r;
	if ((refusal.kind == S3_OTHER_REGION ||
	     (refusal.kind == S3_OTHER_STYLE && s3->place.style != S3_VIRTUAL)) &&
	    s3->moves++ < MOVES)
		return move(s3, &refusal, err);
	return s3_keys_refused(s3->keys, &refusal, err);
}

/* --- the object ----------------------------------------------------------------------------- */

static void s3_auth_free(struct object_auth *auth)
{
	struct s3_auth *s3 = s3_of(auth);

	if (s3->keys)
		s3_keys_leave(s3->keys);
	free(s3->name);
	free(s3->endpoint);
	free(s3->asked_region);
	free(s3->region);
	free(auth->url);
	free(auth->place);
	free(s3);
}

static const struct object_auth_ops s3_auth_ops = {
	.sign = s3_auth_sign,
	.refused = s3_auth_refused,
	.free = s3_auth_free,
};

int s3_auth_new(const char *name, const struct remote_settings *settings, struct remote *remote,
		struct object_auth **ret, struct err *err)
{
	struct s3_auth *s3 = calloc(1, sizeof(*s3));
	struct credentials_ask ask = {.google = name_has_scheme(name, "gs"),
				      .settings = settings,
				      .fetch = remote->fetch ?: fetch};
	int r;

	if (!s3)
		return -ENOMEM;
	s3->auth.ops = &s3_auth_ops;
	s3->auth.elsewhere = "; '--endpoint' names another";
	s3->settings = settings;
	s3->google = ask.google;
	r = find_place(s3, name, err);
	if (r == 0) {
		ask.region = s3->asked_region;
		ask.domain = partition_of(s3->region)->domain;
		r = s3_keys_join(remote, &ask, &s3->keys);
	}
	if (r < 0) {
		s3_auth_free(&s3->auth);
		return r;
	}
	*ret = &s3->auth;
	return 0;
}
