#include "remote/s3_url.h"
#include "base/name.h"
#include "base/scope.h"
#include "remote/url.h"
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

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

const char *s3_domain(const char *region)
{
	return partition_of(region)->domain;
}

const char *s3_partition(const char *region)
{
	return partition_of(region)->prefix;
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
			 place->region, s3_domain(place->region));
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

int s3_url(const char *name, const struct s3_place *place, char **ret, struct err *err)
{
	SCOPE(buf_release) struct buf url = BUF_INIT;
	const char *bucket = name + name_scheme(name) + strlen("://");
	size_t len = strcspn(bucket, "/");
	bool in_host;
	int r = check_bucket(bucket, len, !place->endpoint, err);

	if (r < 0)
		return r;
	if (bucket[len] == '\0' || bucket[len + 1] == '\0')
		return err_set(err, -EINVAL, "no object is named: %.*sBUCKET/KEY",
			       (int)(bucket - name), name);
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
