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

/* A certificate is for *.s3.REGION.amazonaws.com: no dots, and hosts are in lower case. */
static bool fits_host(const char *bucket, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (isupper((unsigned char)bucket[i]))
			return false;
	return len <= 63 && consists_of(bucket, len, "-");
}

/* Up to the path. */
static void add_base(struct buf *url, const char *endpoint, const char *region,
		     const char *host_bucket, size_t len)
{
	const char *china = strncmp(region, "cn-", 3) == 0 ? ".cn" : "";
	size_t end = endpoint ? strlen(endpoint) : 0;

	while (end > 0 && endpoint[end - 1] == '/')
		end--;
	if (endpoint)
		buf_add(url, endpoint, end);
	else
		buf_addf(url, "https://%.*s%ss3.%s.amazonaws.com%s", (int)len, host_bucket,
			 len ? "." : "", region, china);
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

int s3_url(const char *name, const char *endpoint, const char *region, char **ret, struct err *err)
{
	SCOPE(buf_release) struct buf url = BUF_INIT;
	const char *bucket = name + name_scheme(name) + strlen("://");
	size_t len = strcspn(bucket, "/");
	bool in_host = !endpoint && fits_host(bucket, len);
	int r = 0;

	if (memchr(bucket, '@', len))
		return err_set(err, -EINVAL,
			       "no user and no password go in front of the bucket: "
			       "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or '--profile', have "
			       "the keys");
	if (!consists_of(bucket, len, "-._:"))
		return err_set(err, -EINVAL, "'%.*s' is not the name of a bucket", (int)len,
			       bucket);
	if (bucket[len] == '\0' || bucket[len + 1] == '\0')
		return err_set(err, -EINVAL, "no object is named: %.*sBUCKET/KEY",
			       (int)(bucket - name), name);
	if (!consists_of(region, strlen(region), "-"))
		return err_set(err, -EINVAL, "'%s' is not a region", region);
	if (endpoint)
		r = check_endpoint(endpoint, err);
	if (r < 0)
		return r;
	add_base(&url, endpoint, region, bucket, in_host ? len : 0);
	if (!in_host)
		buf_adds(&url, "/");
	r = url_encode(&url, in_host ? bucket + len : bucket, "/");
	if (r == 0)
		*ret = steal_ptr(&url.data);
	return r;
}
