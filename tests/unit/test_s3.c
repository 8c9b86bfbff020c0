/* Requests for objects of S3, and what their refusals lead to: remote/s3.h. */
#define TEST_MAIN
#include "base/scope.h"
#include "remote/s3.h"
#include "remote/s3_keys.h"
#include "tests/unit/aws_home.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <time.h>

/* The clock of the test, in place of the system's. */
static time_t now;

time_t time(time_t *ret)
{
	if (ret)
		*ret = now;
	return now;
}

static struct buf sent; /* header lines of the request that was signed last */

/* A metadata service: keys of the number that it is asked for, which live for `life` seconds. */
static unsigned asked, life;
static bool down;

static int metadata(const struct fetch_request *request, unsigned *ret_status, struct buf *ret_body,
		    struct err *err)
{
	time_t then = now + life;
	char date[32];
	struct tm tm;

	if (down)
		return err_set(err, -EIO, "the container is not reached");
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&then, &tm));
	assert_string_equal(request->url, "http://localhost/keys");
	asked++;
	*ret_status = 200;
	return buf_addf(ret_body,
			"{\"AccessKeyId\":\"AK%u\",\"SecretAccessKey\":\"SK\",\"Token\":\"T%u\","
			"\"Expiration\":\"%s\"}",
			asked, asked, date);
}

static struct remote engine = {.lock = PTHREAD_MUTEX_INITIALIZER, .fetch = metadata};

static struct object_auth *opened(const struct remote_settings *settings)
{
	struct object_auth *auth = NULL;
	struct err err = {0};

	assert_int_equal(s3_auth_new("s3://photos/a b", settings, &engine, &auth, &err), 0);
	return auth;
}

static enum s3_keys_need need(void)
{
	return s3_keys_need(engine.keys[0]);
}

static void renewed(int error, const char *why)
{
	struct err err = {0};

	assert_int_equal(s3_keys_renew(engine.keys[0], &err), error);
	assert_string_equal(err.text, why);
}

static const char *signed_as(struct object_auth *auth)
{
	struct url url SCOPE(url_release) = {0};
	struct err err = {0};

	sent.len = 0;
	assert_int_equal(buf_adds(&sent, ""), 0);
	assert_int_equal(url_parse("https://host/photos/a%20b", &url), 0);
	assert_int_equal(auth->ops->sign(auth, &url, &sent, &err), 0);
	for (size_t i = 0; i < sent.len; i++)
		sent.data[i] = sent.data[i] ?: '\n';
	assert_int_equal(buf_adds(&sent, ""), 0);
	return sent.data;
}

static void refused(struct object_auth *auth, unsigned status, const char *headers,
		    const char *body, int error, const char *why)
{
	const struct object_answer answer = {status, headers, body};
	struct err err = {0};

	assert_int_equal(auth->ops->refused(auth, &answer, &err), error);
	assert_string_equal(err.text, why);
}

static int clear(void **state)
{
	(void)state;
	aws_clear_environment();
	setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
	unlink(".aws/config");
	unlink(".aws/credentials");
	now = 1700000000;
	asked = 0;
	life = 3600;
	down = false;
	return 0;
}

static void set_container(void)
{
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://localhost/keys", 1);
}

static void set_static(void)
{
	setenv("AWS_ACCESS_KEY_ID", "AKID", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "SECRET", 1);
}

/* --- where ----------------------------------------------------------------------------------- */

static void is_at(const struct remote_settings *settings, const char *url)
{
	struct object_auth *auth = opened(settings);

	assert_string_equal(auth->url, url);
	auth->ops->free(auth);
}

FIXTURE_BY(fresh, void, clear, NULL);

static int open_plain(void **state)
{
	static const struct remote_settings settings = {0};

	clear(state);
	*state = opened(&settings);
	return 0;
}

static int close_plain(void **state)
{
	struct object_auth *auth = *state;

	auth->ops->free(auth);
	return 0;
}

FIXTURE_BY(auth, struct object_auth, open_plain, close_plain);

TEST_OF(fresh, options_count_more_than_the_environment_and_that_more_than_the_profile)
{
	const struct remote_settings unset = {0}, profile = {.profile = "p"},
				     set = {.endpoint = "http://o", .region = "option"};

	is_at(&unset, "https://photos.s3.us-east-1.amazonaws.com/a%20b");
	write_text(".aws/config",
		   "[default]\nregion = file\n[profile p]\nservices = s\n"
		   "endpoint_url = http://p\n[services s]\ns3 =\n"
		   "  endpoint_url = http://service\n");
	is_at(&unset, "https://photos.s3.file.amazonaws.com/a%20b");
	is_at(&profile, "http://service/photos/a%20b");
	setenv("AWS_DEFAULT_REGION", "default", 1);
	is_at(&unset, "https://photos.s3.default.amazonaws.com/a%20b");
	setenv("AWS_REGION", "env", 1);
	is_at(&unset, "https://photos.s3.env.amazonaws.com/a%20b");
	setenv("AWS_ENDPOINT_URL", "http://all", 1);
	is_at(&unset, "http://all/photos/a%20b");
	setenv("AWS_ENDPOINT_URL_S3", "http://s3/", 1);
	is_at(&profile, "http://s3/photos/a%20b");
	is_at(&set, "http://o/photos/a%20b");
	setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true", 1);
	is_at(&unset, "https://photos.s3.env.amazonaws.com/a%20b");
	is_at(&set, "http://o/photos/a%20b");
}

TEST_OF(fresh, a_profile_says_how_buckets_are_addressed)
{
	const struct remote_settings set = {.endpoint = "http://e"}, unset = {0};

	write_text(".aws/config", "[default]\ns3 =\n  addressing_style = virtual\n");
	is_at(&set, "http://photos.e/a%20b");
	write_text(".aws/config", "[default]\ns3 =\n  addressing_style = path\n");
	is_at(&set, "http://e/photos/a%20b");
	is_at(&unset, "https://s3.us-east-1.amazonaws.com/photos/a%20b");
	write_text(".aws/config",
		   "[default]\ns3 =\n  addressing_style = auto\n"
		   "use_fips_endpoint = true\nuse_dualstack_endpoint=true\n");
	is_at(&set, "http://e/photos/a%20b");
	is_at(&unset, "https://photos.s3-fips.dualstack.us-east-1.amazonaws.com/a%20b");
	setenv("AWS_USE_FIPS_ENDPOINT", "false", 1);
	setenv("AWS_USE_DUALSTACK_ENDPOINT", "TRUE", 1);
	is_at(&unset, "https://photos.s3.dualstack.us-east-1.amazonaws.com/a%20b");
}

TEST_OF(fresh, a_server_that_wants_the_bucket_in_its_name_is_asked_so)
{
	static const char *const codes[] = {"SecondLevelDomainForbidden",
					    "PathStyleDomainForbidden", "VirtualHostDomainRequired",
					    "InvalidPathAccess"};
	const struct remote_settings settings = {.endpoint = "https://host:8443", .region = "r"};

	set_static();
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct object_auth *auth = opened(&settings);
		char body[256];

		snprintf(body, sizeof(body),
			 "<Error><Code>%s</Code><Message>Use virtual hosts.</Message></Error>",
			 codes[i]);
		renewed(0, "");
		refused(auth, 403, "", body, 0, "");
		assert_string_equal(auth->url, "https://photos.host:8443/a%20b");
		assert_non_null(strstr(signed_as(auth), "/r/s3/aws4_request"));
		snprintf(sent.data, sent.len, "the server refuses: 403 %s Use virtual hosts.",
			 codes[i]);
		refused(auth, 403, "", body, -EIO, sent.data);
		auth->ops->free(auth);
	}
}

TEST_OF(fresh, a_server_that_names_the_region_is_asked_again_there)
{
	const struct remote_settings settings = {0};
	struct object_auth *auth = opened(&settings);

	set_static();
	renewed(0, "");
	refused(auth, 301, "x-amz-bucket-region: eu-west-1\r\n", "", 0, "");
	assert_string_equal(auth->url, "https://photos.s3.eu-west-1.amazonaws.com/a%20b");
	assert_non_null(strstr(signed_as(auth), "/eu-west-1/s3/aws4_request"));
	refused(auth, 400, "",
		"<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-2</Region></"
		"Error>",
		0, "");
	assert_string_equal(auth->url, "https://photos.s3.eu-west-2.amazonaws.com/a%20b");
	refused(auth, 301, "x-amz-bucket-region: eu-west-3\r\n", "", 0, "");
	refused(auth, 301, "x-amz-bucket-region: eu-west-1\r\n", "", -EIO,
		"the bucket is in the region 'eu-west-1', which this endpoint does not serve");
	auth->ops->free(auth);
	auth = opened(&settings);
	refused(auth, 301, "x-amz-bucket-region: evil.com/\r\n", "", -EINVAL,
		"'evil.com/' is not a region");
	auth->ops->free(auth);
}

/* --- who ------------------------------------------------------------------------------------- */

TEST_OF(fresh, requests_are_signed_with_all_that_is_sent)
{
	const struct remote_settings settings = {.requester_pays = true};
	struct object_auth *auth = opened(&settings);

	set_static();
	setenv("AWS_SESSION_TOKEN", "TOKEN", 1);
	assert_int_equal(need(), KEYS_NEEDED);
	renewed(0, "");
	assert_int_equal(need(), KEYS_READY);
	assert_non_null(strstr(signed_as(auth), "x-amz-security-token: TOKEN\n"));
	assert_non_null(strstr(sent.data, "x-amz-request-payer: requester\n"));
	assert_non_null(strstr(sent.data, "x-amz-content-sha256: UNSIGNED-PAYLOAD\n"));
	assert_non_null(strstr(sent.data, "Authorization: AWS4-HMAC-SHA256 Credential=AKID/"));
	assert_non_null(strstr(sent.data,
			       "SignedHeaders=host;x-amz-content-sha256;x-amz-date;"
			       "x-amz-request-payer;x-amz-security-token,"));
	assert_null(strstr(sent.data, "SECRET"));
	auth->ops->free(auth);
}

TEST_OF(fresh,
	without_credentials_requests_are_not_signed_and_a_refusal_says_where_they_were_sought)
{
	const struct remote_settings settings = {0}, anonymous = {.anonymous = true};
	struct object_auth *auth = opened(&settings);
	struct object_answer answer = {403, "", ""};
	struct err err;

	renewed(0, "");
	assert_int_equal(need(), KEYS_READY);
	assert_string_equal(signed_as(auth), "");
	assert_int_equal(auth->ops->refused(auth, &answer, &err), -EACCES);
	assert_memory_equal(err.text, "access denied (403); no credentials: AWS_ACCESS_KEY_ID is ",
			    58);
	auth->ops->free(auth);

	set_static();
	auth = opened(&anonymous);
	assert_int_equal(need(), KEYS_READY);
	assert_string_equal(signed_as(auth), "");
	refused(auth, 403, "", "", -EACCES,
		"access denied (403); --anonymous asks without credentials");
	auth->ops->free(auth);
}

TEST_OF(auth, credentials_that_will_end_are_renewed_before)
{
	set_container();
	renewed(0, "");
	now += 3299;
	assert_int_equal(need(), KEYS_READY);
	now += 1;
	assert_int_equal(need(), KEYS_AGE);
	life = 200; /* as short as this, after half of it */
	renewed(0, "");
	assert_non_null(strstr(signed_as(auth), "Credential=AK2/"));
	now += 99;
	assert_int_equal(need(), KEYS_READY);
	now += 1;
	assert_int_equal(need(), KEYS_AGE);
	now += 100;
	assert_int_equal(need(), KEYS_NEEDED);
}

TEST_OF(auth, keys_that_have_ended_are_not_taken)
{
	set_container();
	life = 0;
	renewed(-EKEYEXPIRED,
		"the session of the credentials of the container has ended: renew it");
	assert_int_equal(need(), KEYS_NEEDED);
	life = 2; /* with less, it would be renewed at once */
	renewed(0, "");
	assert_non_null(strstr(signed_as(auth), "Credential=AK2/"));
}

TEST_OF(auth, while_a_renewal_fails_what_is_there_is_used)
{
	set_container();
	renewed(0, "");
	now += 3300;
	down = true;
	renewed(-EIO, "the container is not reached");
	assert_int_equal(need(), KEYS_READY);
	assert_non_null(strstr(signed_as(auth), "Credential=AK1/"));
	now += 30;
	assert_int_equal(need(), KEYS_AGE);
	renewed(-EIO, "the container is not reached");
	now += 270;
	assert_int_equal(need(), KEYS_NEEDED);
}

TEST_OF(fresh, packs_share_their_keys_but_not_their_regions)
{
	const struct remote_settings settings = {0};
	struct object_auth *first = opened(&settings), *second = opened(&settings);

	set_container();
	renewed(0, "");
	assert_int_equal(need(), KEYS_READY);
	refused(first, 301, "x-amz-bucket-region: eu-west-1\r\n", "", 0, "");
	assert_non_null(strstr(signed_as(first), "Credential=AK1/20231114/eu-west-1/"));
	first->ops->free(first);
	assert_non_null(strstr(signed_as(second), "Credential=AK1/20231114/us-east-1/"));
	first = opened(&settings);
	assert_int_equal(need(), KEYS_READY);
	first->ops->free(first);
	second->ops->free(second);
	assert_int_equal(asked, 1);
}

#define ENDED "<Error><Code>ExpiredToken</Code><Message>The token has expired</Message></Error>"

TEST_OF(auth, a_session_that_a_server_ends_is_renewed_at_once)
{
	set_container();
	renewed(0, "");
	refused(auth, 400, "", ENDED, 0, "");
	refused(auth, 400, "", ENDED, 0, ""); /* another that was under way */
	assert_int_equal(need(), KEYS_NEEDED);
	renewed(0, "");
	assert_int_equal(need(), KEYS_READY);
	/* This one was signed before. */
	refused(auth, 400, "", ENDED, 0, "");
	assert_int_equal(need(), KEYS_READY);
	assert_int_equal(asked, 2);
}

TEST_OF(auth, a_session_that_nobody_renews_is_an_error_until_somebody_does)
{
	set_static();
	setenv("AWS_SESSION_TOKEN", "T", 1);
	renewed(0, "");
	refused(auth, 400, "", ENDED, 0, "");
	renewed(-EKEYEXPIRED,
		"the session of the credentials of the environment has ended: renew it");
	assert_int_equal(need(), KEYS_NEEDED);
	setenv("AWS_SESSION_TOKEN", "T2", 1);
	renewed(0, "");
	assert_int_equal(need(), KEYS_READY);
}

/* --- refusals -------------------------------------------------------------------------------- */

TEST_OF(auth, each_refusal_has_its_sentence)
{
	static const struct {
		unsigned status;
		const char *code;
		int error;
		const char *why;
	} table[] = {
		{403, "AccessDenied", -EACCES,
		 "access denied (403 AccessDenied) to the credentials of the environment: they "
		 "need s3:GetObject, or there is no such object; the server says: the words of "
		 "the server"},
		{403, "InvalidAccessKeyId", -EACCES,
		 "the server does not know the access key of the environment: other credentials "
		 "(--profile), or another server (--endpoint)?"},
		{403, "SignatureDoesNotMatch", -EACCES,
		 "the secret key of the environment does not belong to its access key"},
		{404, "NoSuchBucket", -ENOENT, "there is no such bucket at this endpoint"},
		{404, "NoSuchKey", -ENOENT,
		 "there is no such object in this bucket; a folder of objects ends with a '/'"},
		{400, "InvalidRegionName", -EIO,
		 "the server refuses: 400 InvalidRegionName the words of the server"},
		{403, "RequestTimeTooSkewed", -EACCES, "this machine's clock is wrong: set it"},
	};

	set_static();
	renewed(0, "");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char body[256];

		print_message("%s\n", table[i].code);
		snprintf(body, sizeof(body),
			 "<Error><Code>%s</Code><Message>the words of the server</Message></Error>",
			 table[i].code);
		refused(auth, table[i].status, "", body, table[i].error, table[i].why);
	}
}

TEST_OF(auth, a_clock_that_is_wrong_is_named_with_the_seconds)
{
	time_t then = now - 3600;
	struct object_answer answer = {.status = 403,
				       .body = "<Error><Code>RequestTimeTooSkewed</Code></Error>"};
	struct err err = {0};
	char date[64];
	struct tm tm;

	strftime(date, sizeof(date), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", gmtime_r(&then, &tm));
	answer.headers = date;
	assert_int_equal(auth->ops->refused(auth, &answer, &err), -EACCES);
	assert_string_equal(err.text,
			    "this machine's clock is 3600 seconds ahead of the server's: "
			    "set it (chrony, timedatectl set-ntp true)");
}

int main(void)
{
	int failed = test_run(aws_home_enter, aws_home_leave);

	buf_release(&sent);
	return failed;
}
