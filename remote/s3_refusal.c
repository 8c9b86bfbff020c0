#include "remote/s3_refusal.h"
#include "remote/header.h"
#include "remote/response.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

static bool is(const struct s3_refusal *refusal, const char *code)
{
	return refusal->code && strcmp(refusal->code, code) == 0;
}

static bool is_any(const struct s3_refusal *refusal, const char *const *codes)
{
	while (*codes && !is(refusal, *codes))
		codes++;
	return *codes;
}

/* A header or the body names it. */
static int read_region(const struct object_answer *answer, char **ret)
{
	char region[64];
	int r;

	if (header_find(answer->headers, "x-amz-bucket-region", region, sizeof(region))) {
		*ret = strdup(region);
		return *ret ? 0 : -ENOMEM;
	}
	r = response_xml(answer->body, "Region", ret);
	return r < 0 ? r : 0;
}

int s3_refusal_read(const struct object_answer *answer, struct s3_refusal *ret)
{
	static const char *const ended[] = {"ExpiredToken",
					    "ExpiredTokenException",
					    "TokenRefreshRequired",
					    "InvalidToken",
					    "InvalidTokenId", /* MinIO */
					    NULL};
	static const char *const styles[] = {"SecondLevelDomainForbidden", /* Alibaba OSS */
					     "PathStyleDomainForbidden",   /* Tencent COS */
					     "VirtualHostDomainRequired",  /* Huawei OBS */
					     "InvalidPathAccess",	   /* Volcengine TOS */
					     NULL};
	bool elsewhere;
	int r = response_xml(answer->body, "Code", &ret->code);

	ret->answer = answer;
	if (r >= 0)
		r = response_xml(answer->body, "Message", &ret->message);
	elsewhere = answer->status == 301 || answer->status == 307 ||
		    is(ret, "AuthorizationHeaderMalformed");
	if (r >= 0 && elsewhere)
		r = read_region(answer, &ret->region);
	if (r < 0)
		return r;
	ret->kind = ret->region		  ? S3_OTHER_REGION
		    : is_any(ret, styles) ? S3_OTHER_STYLE
		    : is_any(ret, ended)  ? S3_ENDED
					  : S3_OTHER;
	return 0;
}

void s3_refusal_release(struct s3_refusal *refusal)
{
	free(refusal->code);
	free(refusal->message);
	free(refusal->region);
}

/* The date of the answer tells by how many seconds the clock of this machine is wrong. */
static int say_skew(const struct s3_refusal *refusal, struct err *err)
{
	char date[64] = "";
	uint64_t there = 0;
	long long behind;

	if (header_find(refusal->answer->headers, "Date", date, sizeof(date)))
		there = header_time(date);
	if (there == 0)
		return err_set(err, -EACCES, "this machine's clock is wrong: set it");
	behind = (long long)there - time(NULL);
	return err_set(err, -EACCES,
		       "this machine's clock is %lld seconds %s the server's: set it (chrony, "
		       "timedatectl set-ntp true)",
		       llabs(behind), behind < 0 ? "ahead of" : "behind");
}

static int say_denied(const struct s3_refusal *refusal, const char *source,
		      const char *unsigned_because, const char *needs, struct err *err)
{
	const char *words = refusal->message ?: "", *says = "; the server says: ";

	if (!*words || strcasecmp(words, "access denied") == 0 ||
	    strcasecmp(words, "access denied.") == 0)
		words = says = "";
	if (!*source)
		return err_set(err, -EACCES, "access denied (%u); %s%s%.200s",
			       refusal->answer->status, unsigned_because, says, words);
	if (is(refusal, "InvalidAccessKeyId"))
		return err_set(err, -EACCES,
			       "the server does not know the access key of %s: other credentials "
			       "(--profile), or another server (--endpoint)?",
			       source);
	if (is(refusal, "SignatureDoesNotMatch"))
		return err_set(err, -EACCES,
			       "the secret key of %s does not belong to its access key", source);
	return err_set(err, -EACCES,
		       "access denied (%u %.64s) to the credentials of %s: they need %s, or there "
		       "is no such object%s%.200s",
		       refusal->answer->status, refusal->code ?: "", source, needs, says, words);
}

int s3_refusal_say(const struct s3_refusal *refusal, const char *source,
		   const char *unsigned_because, const char *needs, struct err *err)
{
	unsigned status = refusal->answer->status;

	if (is(refusal, "RequestTimeTooSkewed"))
		return say_skew(refusal, err);
	if (is(refusal, "NoSuchBucket"))
		return err_set(err, -ENOENT, "there is no such bucket at this endpoint");
	if (status == 404)
		return err_set(err, -ENOENT,
			       "there is no such object in this bucket; a folder of objects "
			       "ends with a '/'");
	if (refusal->kind == S3_OTHER && (status == 401 || status == 403))
		return say_denied(refusal, source, unsigned_because, needs, err);
	if (refusal->kind == S3_OTHER_REGION)
		return err_set(
			err, -EIO,
			"the bucket is in the region '%s', which this endpoint does not serve",
			refusal->region);
	return err_set(err, -EIO, "the server refuses: %u %.64s %.200s", status,
		       refusal->code ?: "", refusal->message ?: "");
}
