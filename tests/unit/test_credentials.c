/* Who signs, and where that is looked for: remote/credentials.h. The services that are asked are
 * the exchanges of each test, in order: "METHOD URL | HEADER > STATUS BODY", or an error for the
 * latter two. */
#define TEST_MAIN
#include "base/clock.h"
#include "base/scope.h"
#include "remote/credentials.h"
#include "remote/process.h"
#include "tests/unit/aws_home.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#define KEYS "\"AccessKeyId\":\"AK\",\"SecretAccessKey\":\"SK\""
#define END  1893553445 /* 2030-01-02T03:04:05Z */
#define ROLE "arn:aws:iam::123456789012:role/a+b"
#define FORM                                                                       \
	"Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3A" \
	"iam%3A%3A123456789012%3Arole%2Fa%2Bb&RoleSessionName=foldfs&WebIdentityToken=a.b-c%3D"

#define asked(...)                \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}
#define nothing asked(NULL)

static const char *const *expected;

static int answer(const struct fetch_request *request, unsigned *ret_status, struct buf *ret_body,
		  struct err *err)
{
	const char *next = *expected, *header = request->headers->data;
	bool posts = strcmp(request->method, "POST") == 0;
	char question[512];
	int len = snprintf(question, sizeof(question), "%s %s%s%s > ", request->method,
			   request->url, header ? " | " : "", header ? header : "");

	if (!next || strncmp(next, question, (size_t)len) != 0)
		fail_msg("%s", question);
	expected++;
	next += len;
	/* What gives keys to this machine alone is asked through no proxy. */
	assert_int_equal(request->direct, !posts);
	if (posts)
		assert_string_equal(request->body, FORM);
	if (*next == 'E')
		return err_set(err, strcmp(next, "EIO") == 0 ? -EIO : -ETIMEDOUT,
			       "the host is not reached");
	*ret_status = (unsigned)atoi(next);
	return buf_adds(ret_body, next + strlen("200 "));
}

static bool google; /* keys for gs:// are looked for */
static const char *region;
static struct remote_settings settings;
static struct err why; /* as it was said last */
static int64_t expires;

/* What is found, as "ACCESS SECRET TOKEN, from SOURCE", or "nothing". */
static const char *found(const char *profile, const char *const *exchanges, int error)
{
	static char text[256];
	SCOPE(credentials_release) struct credentials keys = {0};
	const struct credentials_ask ask = {.google = google,
					    .region = region,
					    .domain = "amazonaws.com",
					    .settings = &settings,
					    .fetch = answer};

	settings.profile = profile;
	expected = exchanges;
	why = (struct err){0};
	assert_int_equal(credentials_find(&ask, &keys, &why), error);
	assert_null(*expected);
	assert_true(error == 0 || !keys.access);
	expires = keys.expires;
	snprintf(text, sizeof(text), "%s %s %s, from %s", keys.access ? keys.access : "-",
		 keys.secret ? keys.secret : "-", keys.token ? keys.token : "-", keys.source);
	return text;
}

static void finds(const char *profile, const char *const *exchanges, const char *keys)
{
	assert_string_equal(found(profile, exchanges, 0), keys);
}

static void fails(const char *profile, const char *const *exchanges, int error, const char *words)
{
	found(profile, exchanges, error);
	assert_string_equal(why.text, words);
}

static int clear(void **state)
{
	(void)state;
	aws_clear_environment();
	aws_set("AWS_EC2_METADATA_DISABLED=true", "FOLDFS_TOKEN=", "GCE_METADATA_HOST=");
	unlink(".aws/credentials");
	unlink(".aws/config");
	write_text("token", "a.b-c=\n");
	google = false;
	region = NULL;
	settings = (struct remote_settings){0};
	return 0;
}

FIXTURE_BY(fresh, void, clear, NULL);

/* --- environment ----------------------------------------------------------------------------- */

TEST_OF(fresh, the_environment_comes_first)
{
	aws_set("AWS_ACCESS_KEY_ID=AK", "AWS_SECRET_ACCESS_KEY=SK",
		"AWS_WEB_IDENTITY_TOKEN_FILE=/nowhere", "AWS_PROFILE=nobody");
	finds(NULL, nothing, "AK SK -, from the environment");
	aws_set("AWS_SESSION_TOKEN=T");
	finds(NULL, nothing, "AK SK T, from the environment");
}

TEST_OF(fresh, half_a_pair_is_an_error_and_no_other_place_is_asked)
{
	aws_set("AWS_ACCESS_KEY_ID=AK");
	fails(NULL, nothing, -EINVAL, "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not");
	aws_set("AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=SK");
	fails(NULL, nothing, -EINVAL, "AWS_SECRET_ACCESS_KEY is set, but AWS_ACCESS_KEY_ID is not");
}

/* As of a file that Windows has written. */
TEST_OF(fresh, ends_of_lines_are_no_part_of_keys)
{
	aws_set("AWS_ACCESS_KEY_ID= AK\r\n", "AWS_SECRET_ACCESS_KEY=SK\r", "AWS_SESSION_TOKEN=T\n");
	finds(NULL, nothing, "AK SK T, from the environment");
	aws_set("AWS_SESSION_TOKEN=T\nHost: b");
	fails(NULL, nothing, -EINVAL, "the keys of the environment have more than one line");
	aws_set("AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://localhost/x");
	fails(NULL, asked("GET http://localhost/x > 200 {" KEYS ",\"Token\":\"a\\nHost: b\"}"),
	      -EINVAL, "the keys of the container have more than one line");
	aws_set("AWS_CONTAINER_AUTHORIZATION_TOKEN=a b\r\n");
	finds(NULL, asked("GET http://localhost/x | Authorization: a b > 200 {" KEYS "}"),
	      "AK SK -, from the container");
	aws_set("AWS_CONTAINER_AUTHORIZATION_TOKEN=a\nb");
	fails(NULL, nothing, -EINVAL,
	      "AWS_CONTAINER_AUTHORIZATION_TOKEN: this is not a token of one line");
}

TEST_OF(fresh, without_any_all_places_are_named)
{
	char words[512];

	snprintf(words, sizeof(words),
		 "no credentials: AWS_ACCESS_KEY_ID is not set, AWS_WEB_IDENTITY_TOKEN_FILE is not "
		 "set, no keys of profile 'default' in %s/.aws/credentials and %s/.aws/config, "
		 "AWS_CONTAINER_CREDENTIALS_* are not set, AWS_EC2_METADATA_DISABLED is true",
		 aws_home, aws_home);
	fails(NULL, nothing, -ENOKEY, words);
}

/* --- profile --------------------------------------------------------------------------------- */

TEST_OF(fresh, a_profile_has_static_keys)
{
	write_text(".aws/credentials",
		   "[default]\naws_access_key_id=AK\naws_secret_access_key=SK\n"
		   "[other]\naws_access_key_id=OK\naws_secret_access_key=OS\n"
		   "aws_session_token=T\n[half]\naws_access_key_id=HK\n");
	finds(NULL, nothing, "AK SK -, from profile 'default'");
	finds("other", nothing, "OK OS T, from profile 'other'");
	aws_set("AWS_PROFILE=other");
	finds(NULL, nothing, "OK OS T, from profile 'other'");
	fails("half", nothing, -EINVAL,
	      "profile 'half' has aws_access_key_id, but no aws_secret_access_key");
	/* That of the command line counts more than the environment. */
	aws_set("AWS_ACCESS_KEY_ID=EK", "AWS_SECRET_ACCESS_KEY=ES");
	finds("other", nothing, "OK OS T, from profile 'other'");
}

TEST_OF(fresh, a_process_prints_credentials)
{
	write_text(".aws/config",
		   "[default]\ncredential_process = printf '{\"Version\": 1, " KEYS
		   ", \"SessionToken\":\"T\", \"Expiration\":\"%s\"}' \"2030-01-02T03:04:05Z\"\n");
	finds(NULL, nothing, "AK SK T, from profile 'default'");
	assert_true(expires == END);
}

TEST_OF(fresh, a_process_that_fails_is_named)
{
	write_text(".aws/config",
		   "[default]\ncredential_process = echo '{" KEYS
		   "}'; exit 3\n"
		   "[profile html]\ncredential_process = echo '<html>'\n"
		   "[profile no]\ncredential_process = echo '{\"AccessKeyId\":\"A\"}'\n"
		   "[profile big]\ncredential_process = yes\n");
	fails(NULL, nothing, -EIO, "credential_process of profile 'default': it failed");
	fails("html", nothing, -EINVAL,
	      "credential_process of profile 'html': the answer is no JSON object of credentials");
	fails("no", nothing, -EINVAL,
	      "credential_process of profile 'no': the answer has no SecretAccessKey");
	fails("big", nothing, -EMSGSIZE, "credential_process of profile 'big': Message too long");
}

TEST_OF(fresh, a_program_that_does_not_end_is_killed)
{
	static const char *const silent[] = {"/bin/sh", "-c", "sleep 60", NULL};
	static const char *const closed[] = {"/bin/sh", "-c", "exec >&-; sleep 60", NULL};
	SCOPE(buf_release) struct buf output = BUF_INIT;
	uint64_t until = clock_ns() + 30 * CLOCK_SECOND;
	const atomic_bool stops = true;

	assert_int_equal(process_output(silent, 100, NULL, &output), -ETIMEDOUT);
	assert_int_equal(process_output(closed, 100, NULL, &output), -ETIMEDOUT);
	assert_int_equal(process_output(silent, 60000, &stops, &output), -ECANCELED);
	assert_true(clock_ns() < until);
}

TEST_OF(fresh, with_a_program_its_children_are_killed)
{
	static const char *const parent[] = {"/bin/sh", "-c",
					     "exec 9>alive; (exec >&-; sleep 60) & wait", NULL};
	SCOPE(buf_release) struct buf output = BUF_INIT;
	struct pollfd alive = {.events = POLLIN};

	assert_int_equal(mkfifo("alive", 0600), 0);
	alive.fd = open("alive", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_int_equal(process_output(parent, 500, NULL, &output), -ETIMEDOUT);
	assert_int_equal(poll(&alive, 1, 10000), 1);
	assert_int_equal(alive.revents, POLLHUP);
	close(alive.fd);
}

/* It sees the profile in its arguments, and no key. */
TEST_OF(fresh, for_single_sign_on_the_aws_tool_is_asked)
{
	char *path = strdup(getenv("PATH")), own[8192];

	write_text(".aws/config", "[profile sso]\nsso_session = x\naws_access_key_id = old\n");
	write_text("aws",
		   "#!/bin/sh\n[ \"$*\" = 'configure export-credentials --profile sso "
		   "--format process' ] && echo '{" KEYS "}'\n");
	assert_int_equal(chmod("aws", 0700), 0);
	snprintf(own, sizeof(own), "%s:%s", aws_home, path);
	setenv("PATH", own, 1);
	finds("sso", nothing, "AK SK -, from profile 'sso'");
	setenv("PATH", "/nowhere", 1);
	fails("sso", nothing, -ENOENT,
	      "profile 'sso' needs the program 'aws', which is not in PATH");
	setenv("PATH", path, 1);
	free(path);
}

/* --- web identity ---------------------------------------------------------------------------- */

#define FORM_IS " | Content-Type: application/x-www-form-urlencoded > "
#define STS_ANSWER                                                                      \
	"200 <AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult>"      \
	"<Credentials><SessionToken>T/+=</SessionToken><SecretAccessKey>SK"             \
	"</SecretAccessKey><Expiration>2030-01-02T03:04:05.678Z</Expiration>"           \
	"<AccessKeyId>AK</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult>" \
	"</AssumeRoleWithWebIdentityResponse>"
#define GLOBAL "POST https://sts.amazonaws.com/" FORM_IS

static void set_web_identity(void)
{
	aws_set("AWS_WEB_IDENTITY_TOKEN_FILE=token", "AWS_ROLE_ARN=" ROLE);
}

TEST_OF(fresh, a_web_identity_is_changed_into_keys_of_a_role)
{
	set_web_identity();
	finds(NULL, asked(GLOBAL STS_ANSWER), "AK SK T/+=, from web identity");
	aws_set("AWS_ENDPOINT_URL_STS=http://sts", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true");
	finds(NULL, asked(GLOBAL STS_ANSWER), "AK SK T/+=, from web identity");
	region = "eu-west-1";
	finds(NULL, asked("POST https://sts.eu-west-1.amazonaws.com/" FORM_IS STS_ANSWER),
	      "AK SK T/+=, from web identity");
	assert_true(expires == END);
}

TEST_OF(fresh, a_profile_may_have_a_web_identity)
{
	write_text(".aws/config",
		   "[profile eks]\nrole_arn = " ROLE "\nweb_identity_token_file = token\n");
	aws_set("AWS_ENDPOINT_URL_STS=http://sts");
	finds("eks", asked("POST http://sts" FORM_IS STS_ANSWER), "AK SK T/+=, from profile 'eks'");
}

TEST_OF(fresh, a_role_that_sts_refuses_is_said_with_its_words)
{
	set_web_identity();
	fails(NULL,
	      asked(GLOBAL "400 <ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>"
			   "not for you</Message></Error></ErrorResponse>"),
	      -EACCES,
	      "STS gives no keys of the role " ROLE ": 400 InvalidIdentityToken: not for you");
}

TEST_OF(fresh, a_token_of_more_lines_than_one_is_not_sent)
{
	set_web_identity();
	write_text("token", "a\nHost: b\n");
	fails(NULL, nothing, -EINVAL, "token: this is not a token of one line");
	aws_set("AWS_WEB_IDENTITY_TOKEN_FILE=missing");
	fails(NULL, nothing, -ENOENT, "missing: No such file or directory");
	aws_set("AWS_ROLE_ARN=");
	fails(NULL, nothing, -EINVAL,
	      "AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not");
}

/* --- container ------------------------------------------------------------------------------- */

TEST_OF(fresh, a_container_is_asked_with_its_token)
{
	aws_set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/v2/x");
	finds(NULL, asked("GET http://169.254.170.2/v2/x > 200 {" KEYS "}"),
	      "AK SK -, from the container");
	aws_set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://169.254.170.23/v1/credentials",
		"AWS_CONTAINER_AUTHORIZATION_TOKEN=old",
		"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=token");
	finds(NULL,
	      asked("GET http://169.254.170.23/v1/credentials | Authorization: a.b-c= > 200 {" KEYS
		    ",\"Token\":\"T\"}"),
	      "AK SK T, from the container");
}

TEST_OF(fresh, a_container_that_fails_is_asked_twice_and_named)
{
	aws_set("AWS_CONTAINER_CREDENTIALS_FULL_URI=http://localhost:1/x");
	finds(NULL,
	      asked("GET http://localhost:1/x > 500 ", "GET http://localhost:1/x > 200 {" KEYS "}"),
	      "AK SK -, from the container");
	fails(NULL, asked("GET http://localhost:1/x > EIO", "GET http://localhost:1/x > EIO"), -EIO,
	      "the host is not reached");
	fails(NULL, asked("GET http://localhost:1/x > 404 no"), -EACCES,
	      "http://localhost:1/x: 404 instead of credentials");
}

TEST_OF(fresh, no_token_goes_over_the_network_in_plain)
{
	aws_set("AWS_CONTAINER_AUTHORIZATION_TOKEN=secret",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://localhost.evil.com/");
	fails(NULL, nothing, -EINVAL,
	      "AWS_CONTAINER_CREDENTIALS_*: no token is sent to http://localhost.evil.com/ without "
	      "https");
	aws_set("AWS_CONTAINER_CREDENTIALS_FULL_URI=http://localhost:1@evil.com/");
	fails(NULL, nothing, -EINVAL,
	      "AWS_CONTAINER_CREDENTIALS_*: no token is sent to http://localhost:1@evil.com/ "
	      "without https");
}

/* --- Google ---------------------------------------------------------------------------------- */

#define GOOGLE_AT(host)                                          \
	"GET http://" host                                       \
	"/computeMetadata/v1/instance/service-accounts/default/" \
	"token | Metadata-Flavor: Google > "
#define MACHINE	    GOOGLE_AT("metadata.google.internal")
#define HAS_A_TOKEN asked(MACHINE "200 {\"access_token\":\"ya29.c\",\"expires_in\":3599}")
#define OF_MACHINE  "- - ya29.c, from the metadata server"

TEST_OF(fresh, of_google_a_token_comes_first_then_its_keys_then_the_machine)
{
	google = true;
	settings.first_url = "gs://b/k";
	finds(NULL, HAS_A_TOKEN, OF_MACHINE);
	write_text(".aws/credentials",
		   "[default]\naws_access_key_id=GOOGP\naws_secret_access_key=PS\n");
	finds(NULL, nothing, "GOOGP PS -, from profile 'default'");
	aws_set("AWS_ACCESS_KEY_ID=GOOGE", "AWS_SECRET_ACCESS_KEY=ES");
	finds(NULL, nothing, "GOOGE ES -, from the environment");
	aws_set("FOLDFS_TOKEN=user");
	finds(NULL, nothing, "- - user, from FOLDFS_TOKEN");
	finds("default", nothing, "GOOGP PS -, from profile 'default'");
	settings.first_url = "https://host/x";
	finds(NULL, nothing, "GOOGE ES -, from the environment");
}

TEST_OF(fresh, no_key_of_amazon_is_for_google)
{
	google = true;
	write_text(".aws/credentials",
		   "[default]\naws_access_key_id=AKIA\naws_secret_access_key=PS\n");
	aws_set("AWS_ACCESS_KEY_ID=AKIA");
	finds(NULL, HAS_A_TOKEN, OF_MACHINE);
	aws_set("AWS_SECRET_ACCESS_KEY=ES");
	finds(NULL, HAS_A_TOKEN, OF_MACHINE);
	fails("default", nothing, -ENOKEY,
	      "no credentials: the keys of profile 'default' are Amazon's");
	aws_set("AWS_PROFILE=work");
	finds(NULL, HAS_A_TOKEN, OF_MACHINE);
	aws_set("AWS_ACCESS_KEY_ID=GOOGE", "AWS_SESSION_TOKEN=T");
	finds(NULL, HAS_A_TOKEN, OF_MACHINE);
}

TEST_OF(fresh, a_token_of_googles_machine_ends_when_it_says)
{
	time_t before = time(NULL);

	google = true;
	finds(NULL, HAS_A_TOKEN, OF_MACHINE);
	assert_in_range(expires, before + 3599, time(NULL) + 3599);
}

TEST_OF(fresh, no_program_and_no_service_of_amazon_has_keys_for_google)
{
	char words[512];

	google = true;
	aws_set("AWS_CONTAINER_CREDENTIALS_FULL_URI=http://localhost:1/x",
		"AWS_WEB_IDENTITY_TOKEN_FILE=token", "GCE_METADATA_HOST=[::1]:80",
		"AWS_EC2_METADATA_DISABLED=");
	write_text(".aws/config", "[default]\ncredential_process = touch ran\nsso_session = s\n");
	snprintf(words, sizeof(words),
		 "no credentials: FOLDFS_TOKEN is not set, AWS_ACCESS_KEY_ID is not set, no keys "
		 "of profile 'default' in %s/.aws/credentials and %s/.aws/config, the metadata "
		 "server has no token: 404",
		 aws_home, aws_home);
	fails(NULL, asked(GOOGLE_AT("[::1]:80") "404 no"), -ENOKEY, words);
	assert_int_not_equal(access("ran", F_OK), 0);
	aws_set("GOOGLE_APPLICATION_CREDENTIALS=/nowhere/account.json");
	found(NULL, asked(GOOGLE_AT("[::1]:80") "404 no"), -ENOKEY);
	assert_non_null(strstr(why.text,
			       "FOLDFS_TOKEN is not set (and GOOGLE_APPLICATION_CREDENTIALS not "
			       "read: 'gcloud auth application-default print-access-token' prints "
			       "a token of it)"));
	aws_set("GOOGLE_APPLICATION_CREDENTIALS=");
}

TEST_OF(fresh, a_token_of_googles_machine_is_for_google_alone)
{
	static const char *const others[] = {"https://storage.googleapis.com.evil.com",
					     "http://storage.googleapis.com",
					     "https://evilgoogleapis.com",
					     "https://googleapis.com@evil.com", "https://10.0.0.1"};

	google = true;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		settings.endpoint = others[i];
		found(NULL, nothing, -ENOKEY);
		assert_non_null(strstr(why.text, "for Google's servers only"));
	}
	settings.endpoint = "https://storage-x.p.googleapis.com";
	finds(NULL, HAS_A_TOKEN, OF_MACHINE);
}

TEST_OF(fresh, an_answer_without_a_token_is_an_error)
{
	static const char *const odd[] = {
		MACHINE "200 {}",
		MACHINE "200 <html>",
		MACHINE "200 {\"access_token\":\"a\"}",
		MACHINE "200 {\"access_token\":\"a\\r\\nb\",\"expires_in\":1}",
		MACHINE "200 {\"access_token\":\"a\",\"expires_in\":-1}",
		MACHINE "200 {\"access_token\":\"a\",\"expires_in\":99999999999}"};

	google = true;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		fails(NULL, asked(odd[i]), -EINVAL,
		      "the answer of the metadata server has no token");
}

/* --- machine --------------------------------------------------------------------------------- */

#define METADATA "http://169.254.169.254/latest/"
#define ROLES	 METADATA "meta-data/iam/security-credentials/"
#define TTL	 "api/token | X-aws-ec2-metadata-token-ttl-seconds: 21600 > "
#define TOKEN	 " | X-aws-ec2-metadata-token: TT== > "

TEST_OF(fresh, a_machine_has_a_role)
{
	aws_set("AWS_EC2_METADATA_DISABLED=");
	finds(NULL,
	      asked("PUT " METADATA TTL "200 TT==", "GET " ROLES TOKEN "200 trainer\n",
		    "GET " ROLES "trainer" TOKEN
		    "200 {\n  \"Code\" : \"Success\",\n  \"Type\" : \"AWS-HMAC\",\n  " KEYS
		    ",\n  \"Token\" : \"T\",\n  \"Expiration\" : \"2030-01-02T04:04:05+01:00\"\n}"),
	      "AK SK T, from instance metadata");
	assert_true(expires == END);
}

TEST_OF(fresh, a_machine_may_be_asked_by_ipv6)
{
	aws_set("AWS_EC2_METADATA_DISABLED=", "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE=IPv6");
	found(NULL, asked("PUT http://[fd00:ec2::254]/latest/" TTL "403 "), -ENOKEY);
}

TEST_OF(fresh, a_machine_elsewhere_has_no_metadata)
{
	aws_set("AWS_EC2_METADATA_DISABLED=");
	found(NULL, asked("PUT " METADATA TTL "ETIMEDOUT", "PUT " METADATA TTL "ETIMEDOUT"),
	      -ENOKEY);
	assert_non_null(strstr(why.text, ", no metadata service at http://169.254.169.254"));
	found(NULL, asked("PUT " METADATA TTL "200 TT==", "GET " ROLES TOKEN "404 "), -ENOKEY);
	assert_non_null(strstr(why.text, ", http://169.254.169.254 has no role: 404"));
}

int main(void)
{
	return test_run(aws_home_enter, aws_home_leave);
}
