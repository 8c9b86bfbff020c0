/* Who signs, and where that is looked for: remote/credentials.h. The services that are asked are a
 * table of this test. */
#define TEST_MAIN
#include "base/clock.h"
#include "base/scope.h"
#include "remote/credentials.h"
#include "remote/credentials_place.h"
#include "remote/process.h"
#include "tests/unit/aws_home.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#define KEYS "\"AccessKeyId\":\"AK\",\"SecretAccessKey\":\"SK\""

/* The exchange that is expected next, in order; the last has no URL. */
struct exchange {
	const char *method, *url, *header, *body; /* asked; NULL: none */
	int error;				  /* or status and answer */
	unsigned status;
	const char *answer;
};

static const struct exchange *expected;

static int answer(const struct fetch *request, unsigned *ret_status, struct buf *ret_body,
		  struct err *err)
{
	const struct exchange *exchange = expected++;

	assert_non_null(exchange->url);
	assert_string_equal(request->url, exchange->url);
	assert_string_equal(request->method, exchange->method);
	/* What gives keys to this machine alone is asked through no proxy. */
	assert_int_equal(request->direct, strcmp(exchange->method, "POST") != 0);
	if (exchange->header)
		assert_string_equal(request->headers[0], exchange->header);
	else
		assert_true(!request->headers || !request->headers[0]);
	if (exchange->body)
		assert_string_equal(request->body, exchange->body);
	if (exchange->error < 0)
		return err_set(err, exchange->error, "the host is not reached");
	*ret_status = exchange->status;
	return buf_adds(ret_body, exchange->answer);
}

static const struct exchange nothing_asked[] = {{0}};

static bool google; /* keys for gs:// are looked for */
static struct remote_settings settings;

static int find(const char *profile, const char *region, const struct exchange *exchanges,
		struct credentials *ret, struct err *err)
{
	const struct credentials_ask ask = {.google = google,
					    .profile = profile,
					    .region = region,
					    .settings = &settings,
					    .fetch = answer};
	int r;

	expected = exchanges;
	*err = (struct err){0};
	r = credentials_find(&ask, ret, err);
	assert_null(expected->url);
	return r;
}

static void found(const char *profile, const struct exchange *exchanges, const char *access,
		  const char *secret, const char *token, const char *source)
{
	struct credentials keys = {0};
	struct err err;

	assert_int_equal(find(profile, NULL, exchanges, &keys, &err), 0);
	assert_string_equal(keys.access ? keys.access : "", access);
	assert_string_equal(keys.secret ? keys.secret : "", secret);
	if (token)
		assert_string_equal(keys.token, token);
	else
		assert_null(keys.token);
	assert_string_equal(keys.source, source);
	credentials_release(&keys);
	assert_null(keys.secret);
}

static void fails(const char *profile, const struct exchange *exchanges, int error, const char *why)
{
	struct credentials keys = {0};
	struct err err;

	assert_int_equal(find(profile, NULL, exchanges, &keys, &err), error);
	assert_string_equal(err.text, why);
	assert_null(keys.access);
}

static int clear(void **state)
{
	(void)state;
	aws_clear_environment();
	setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
	unlink(".aws/credentials");
	unlink(".aws/config");
	unsetenv("FOLDFS_TOKEN");
	unsetenv("GCE_METADATA_HOST");
	google = false;
	settings = (struct remote_settings){0};
	return 0;
}

FIXTURE_BY(fresh, void, clear, NULL);

/* --- environment ----------------------------------------------------------------------------- */

TEST_OF(fresh, the_environment_comes_first)
{
	setenv("AWS_ACCESS_KEY_ID", "AK", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "SK", 1);
	setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "/nowhere", 1);
	setenv("AWS_PROFILE", "nobody", 1);
	found(NULL, nothing_asked, "AK", "SK", NULL, "the environment");
	setenv("AWS_SESSION_TOKEN", "T", 1);
	found(NULL, nothing_asked, "AK", "SK", "T", "the environment");
}

TEST_OF(fresh, half_a_pair_is_an_error_and_no_other_place_is_asked)
{
	setenv("AWS_ACCESS_KEY_ID", "AK", 1);
	fails(NULL, nothing_asked, -EINVAL,
	      "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not");
	unsetenv("AWS_ACCESS_KEY_ID");
	setenv("AWS_SECRET_ACCESS_KEY", "SK", 1);
	fails(NULL, nothing_asked, -EINVAL,
	      "AWS_SECRET_ACCESS_KEY is set, but AWS_ACCESS_KEY_ID is not");
}

/* As of a file that Windows has written. */
TEST_OF(fresh, ends_of_lines_are_no_part_of_keys)
{
	static const struct exchange ecs[] = {
		{"GET", "http://localhost/x", "Authorization: a b", NULL, 0, 200, "{" KEYS "}"},
		{0}};
	static const struct exchange odd[] = {{"GET", "http://localhost/x", NULL, NULL, 0, 200,
					       "{" KEYS ",\"Token\":\"a\\nHost: b\"}"},
					      {0}};

	setenv("AWS_ACCESS_KEY_ID", " AK\r\n", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "SK\r", 1);
	setenv("AWS_SESSION_TOKEN", "T\n", 1);
	found(NULL, nothing_asked, "AK", "SK", "T", "the environment");
	setenv("AWS_SESSION_TOKEN", "T\nHost: b", 1);
	fails(NULL, nothing_asked, -EINVAL, "the keys of the environment have more than one line");
	unsetenv("AWS_ACCESS_KEY_ID");
	unsetenv("AWS_SECRET_ACCESS_KEY");
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://localhost/x", 1);
	fails(NULL, odd, -EINVAL, "the keys of the container have more than one line");
	setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "a b\r\n", 1);
	found(NULL, ecs, "AK", "SK", NULL, "the container");
	setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "a\nb", 1);
	fails(NULL, nothing_asked, -EINVAL,
	      "AWS_CONTAINER_AUTHORIZATION_TOKEN: this is not a token of one line");
}

TEST_OF(fresh, without_any_all_places_are_named)
{
	char why[512];

	snprintf(why, sizeof(why),
		 "no credentials: AWS_ACCESS_KEY_ID is not set, AWS_WEB_IDENTITY_TOKEN_FILE is not "
		 "set, no keys of profile 'default' in %s/.aws/credentials and %s/.aws/config, "
		 "AWS_CONTAINER_CREDENTIALS_* are not set, AWS_EC2_METADATA_DISABLED is true",
		 aws_home, aws_home);
	fails(NULL, nothing_asked, -ENOKEY, why);
}

/* --- profile --------------------------------------------------------------------------------- */

TEST_OF(fresh, a_profile_has_static_keys)
{
	write_text(".aws/credentials",
		   "[default]\naws_access_key_id=AK\naws_secret_access_key=SK\n"
		   "[other]\naws_access_key_id=OK\naws_secret_access_key=OS\n"
		   "aws_session_token=T\n[half]\naws_access_key_id=HK\n");
	found(NULL, nothing_asked, "AK", "SK", NULL, "profile 'default'");
	found("other", nothing_asked, "OK", "OS", "T", "profile 'other'");
	setenv("AWS_PROFILE", "other", 1);
	found(NULL, nothing_asked, "OK", "OS", "T", "profile 'other'");
	fails("half", nothing_asked, -EINVAL,
	      "profile 'half' has aws_access_key_id, but no aws_secret_access_key");
}

TEST_OF(fresh, a_profile_of_the_command_line_counts_more_than_the_environment)
{
	setenv("AWS_ACCESS_KEY_ID", "AK", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "SK", 1);
	write_text(".aws/credentials", "[other]\naws_access_key_id=OK\naws_secret_access_key=OS\n");
	found("other", nothing_asked, "OK", "OS", NULL, "profile 'other'");
	write_text(".aws/credentials", "[other]\n");
}

TEST_OF(fresh, a_process_prints_credentials)
{
	struct credentials keys = {0};
	struct err err;

	write_text(".aws/config",
		   "[default]\ncredential_process = printf '{\"Version\": 1, " KEYS
		   ", \"SessionToken\":\"T\", \"Expiration\":\"%s\"}' \"2030-01-02T03:04:05Z\"\n");
	assert_int_equal(find(NULL, NULL, nothing_asked, &keys, &err), 0);
	assert_string_equal(keys.secret, "SK");
	assert_string_equal(keys.token, "T");
	assert_true(keys.expires == 1893553445);
	credentials_release(&keys);
}

TEST_OF(fresh, a_process_that_fails_is_named)
{
	write_text(".aws/config",
		   "[default]\ncredential_process = echo '{" KEYS
		   "}'; exit 3\n"
		   "[profile html]\ncredential_process = echo '<html>'\n"
		   "[profile no]\ncredential_process = echo '{\"AccessKeyId\":\"A\"}'\n"
		   "[profile big]\ncredential_process = yes\n");
	fails(NULL, nothing_asked, -EIO, "credential_process of profile 'default': it failed");
	fails("html", nothing_asked, -EINVAL,
	      "credential_process of profile 'html': the answer is no JSON object of credentials");
	fails("no", nothing_asked, -EINVAL,
	      "credential_process of profile 'no': the answer has no SecretAccessKey");
	fails("big", nothing_asked, -EMSGSIZE,
	      "credential_process of profile 'big': Message too long");
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
	found("sso", nothing_asked, "AK", "SK", NULL, "profile 'sso'");
	setenv("PATH", "/nowhere", 1);
	fails("sso", nothing_asked, -ENOENT,
	      "profile 'sso' needs the program 'aws', which is not in PATH");
	setenv("PATH", path, 1);
	free(path);
}

/* --- web identity ---------------------------------------------------------------------------- */

#define ROLE "arn:aws:iam::123456789012:role/a+b"
#define FORM                                                                       \
	"Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3A" \
	"iam%3A%3A123456789012%3Arole%2Fa%2Bb&RoleSessionName=foldfs&WebIdentityToken=a.b-c%3D"
#define FORM_HEADER "Content-Type: application/x-www-form-urlencoded"
#define STS_ANSWER                                                                      \
	"<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult>"          \
	"<Credentials><SessionToken>T/+=</SessionToken><SecretAccessKey>SK"             \
	"</SecretAccessKey><Expiration>2030-01-02T03:04:05.678Z</Expiration>"           \
	"<AccessKeyId>AK</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult>" \
	"</AssumeRoleWithWebIdentityResponse>"

static void set_web_identity(void)
{
	write_text("token", "a.b-c=\n");
	setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "token", 1);
	setenv("AWS_ROLE_ARN", ROLE, 1);
}

TEST_OF(fresh, a_web_identity_is_changed_into_keys_of_a_role)
{
	static const struct exchange global[] = {
		{"POST", "https://sts.amazonaws.com/", FORM_HEADER, FORM, 0, 200, STS_ANSWER}, {0}};
	static const struct exchange local[] = {{"POST", "https://sts.eu-west-1.amazonaws.com/",
						 FORM_HEADER, FORM, 0, 200, STS_ANSWER},
						{0}};
	struct credentials keys = {0};
	struct err err;

	set_web_identity();
	found(NULL, global, "AK", "SK", "T/+=", "web identity");
	setenv("AWS_ENDPOINT_URL_STS", "http://sts", 1);
	setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true", 1);
	found(NULL, global, "AK", "SK", "T/+=", "web identity");
	assert_int_equal(find(NULL, "eu-west-1", local, &keys, &err), 0);
	assert_true(keys.expires == 1893553445);
	credentials_release(&keys);
}

TEST_OF(fresh, a_profile_may_have_a_web_identity)
{
	static const struct exchange sts[] = {
		{"POST", "http://sts", FORM_HEADER, FORM, 0, 200, STS_ANSWER}, {0}};

	write_text("token", "a.b-c=");
	write_text(".aws/config", "[profile eks]\nrole_arn = " ROLE
				  "\n"
				  "web_identity_token_file = token\n");
	setenv("AWS_ENDPOINT_URL_STS", "http://sts", 1);
	found("eks", sts, "AK", "SK", "T/+=", "profile 'eks'");
}

TEST_OF(fresh, a_role_that_sts_refuses_is_said_with_its_words)
{
	static const struct exchange refused[] = {
		{"POST", "https://sts.amazonaws.com/", FORM_HEADER, FORM, 0, 400,
		 "<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>not for you"
		 "</Message></Error></ErrorResponse>"},
		{0}};

	set_web_identity();
	fails(NULL, refused, -EACCES,
	      "STS gives no keys of the role " ROLE ": 400 InvalidIdentityToken: not for you");
}

TEST_OF(fresh, a_token_of_more_lines_than_one_is_not_sent)
{
	set_web_identity();
	write_text("token", "a\nHost: b\n");
	fails(NULL, nothing_asked, -EINVAL, "token: this is not a token of one line");
	setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "missing", 1);
	fails(NULL, nothing_asked, -ENOENT, "missing: No such file or directory");
	unsetenv("AWS_ROLE_ARN");
	fails(NULL, nothing_asked, -EINVAL,
	      "AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not");
}

/* --- container ------------------------------------------------------------------------------- */

TEST_OF(fresh, a_container_is_asked_with_its_token)
{
	static const struct exchange ecs[] = {
		{"GET", "http://169.254.170.2/v2/x", NULL, NULL, 0, 200, "{" KEYS "}"}, {0}};
	static const struct exchange eks[] = {{"GET", "http://169.254.170.23/v1/credentials",
					       "Authorization: a.b-c=", NULL, 0, 200,
					       "{" KEYS ",\"Token\":\"T\"}"},
					      {0}};

	setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x", 1);
	found(NULL, ecs, "AK", "SK", NULL, "the container");
	unsetenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials", 1);
	setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "old", 1);
	setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "token", 1);
	write_text("token", "a.b-c=\n");
	found(NULL, eks, "AK", "SK", "T", "the container");
}

TEST_OF(fresh, a_container_that_fails_is_asked_twice_and_named)
{
	static const struct exchange busy[] = {
		{"GET", "http://localhost:1/x", NULL, NULL, 0, 500, ""},
		{"GET", "http://localhost:1/x", NULL, NULL, 0, 200, "{" KEYS "}"},
		{0}};
	static const struct exchange gone[] = {
		{"GET", "http://localhost:1/x", NULL, NULL, -EIO, 0, NULL},
		{"GET", "http://localhost:1/x", NULL, NULL, -EIO, 0, NULL},
		{0}};
	static const struct exchange refused[] = {
		{"GET", "http://localhost:1/x", NULL, NULL, 0, 404, "no"}, {0}};

	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://localhost:1/x", 1);
	found(NULL, busy, "AK", "SK", NULL, "the container");
	fails(NULL, gone, -EIO, "the host is not reached");
	fails(NULL, refused, -EACCES, "http://localhost:1/x: 404 instead of credentials");
}

TEST_OF(fresh, no_token_goes_over_the_network_in_plain)
{
	setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "secret", 1);
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://localhost.evil.com/", 1);
	fails(NULL, nothing_asked, -EINVAL,
	      "AWS_CONTAINER_CREDENTIALS_*: no token is sent to http://localhost.evil.com/ without "
	      "https");
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://localhost:1@evil.com/", 1);
	fails(NULL, nothing_asked, -EINVAL,
	      "AWS_CONTAINER_CREDENTIALS_*: no token is sent to http://localhost:1@evil.com/ "
	      "without https");
}

/* --- Google ---------------------------------------------------------------------------------- */

#define GOOGLE(host) "http://" host "/computeMetadata/v1/instance/service-accounts/default/token"
#define FLAVOR	     "Metadata-Flavor: Google"
#define TOKEN_OF_MACHINE \
	"{\"access_token\":\"ya29.c\",\"expires_in\":3599,\"token_type\":\"Bearer\"}"

static const struct exchange google_machine[] = {
	{"GET", GOOGLE("metadata.google.internal"), FLAVOR, NULL, 0, 200, TOKEN_OF_MACHINE}, {0}};

TEST_OF(fresh, of_google_a_token_comes_first_then_its_keys_then_the_machine)
{
	google = true;
	settings.first_url = "gs://b/k";
	found(NULL, google_machine, "", "", "ya29.c", "the metadata server");
	write_text(".aws/credentials",
		   "[default]\naws_access_key_id=GOOGP\naws_secret_access_key=PS\n");
	found(NULL, nothing_asked, "GOOGP", "PS", NULL, "profile 'default'");
	setenv("AWS_ACCESS_KEY_ID", "GOOGE", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "ES", 1);
	found(NULL, nothing_asked, "GOOGE", "ES", NULL, "the environment");
	setenv("FOLDFS_TOKEN", "user", 1);
	found(NULL, nothing_asked, "", "", "user", "FOLDFS_TOKEN");
	found("default", nothing_asked, "GOOGP", "PS", NULL, "profile 'default'");
	settings.first_url = "https://host/x";
	found(NULL, nothing_asked, "GOOGE", "ES", NULL, "the environment");
}

TEST_OF(fresh, no_key_of_amazon_is_for_google)
{
	google = true;
	write_text(".aws/credentials",
		   "[default]\naws_access_key_id=AKIA\naws_secret_access_key=PS\n");
	setenv("AWS_ACCESS_KEY_ID", "AKIA", 1);
	found(NULL, google_machine, "", "", "ya29.c", "the metadata server");
	setenv("AWS_SECRET_ACCESS_KEY", "ES", 1);
	found(NULL, google_machine, "", "", "ya29.c", "the metadata server");
	fails("default", nothing_asked, -ENOKEY,
	      "no credentials: the keys of profile 'default' are Amazon's");
	setenv("AWS_PROFILE", "work", 1);
	found(NULL, google_machine, "", "", "ya29.c", "the metadata server");
	setenv("AWS_ACCESS_KEY_ID", "GOOGE", 1);
	setenv("AWS_SESSION_TOKEN", "T", 1);
	found(NULL, google_machine, "", "", "ya29.c", "the metadata server");
}

TEST_OF(fresh, a_token_of_googles_machine_ends_when_it_says)
{
	struct credentials keys = {0};
	struct err err;
	time_t before = time(NULL);

	google = true;
	assert_int_equal(find(NULL, NULL, google_machine, &keys, &err), 0);
	assert_in_range(keys.expires, before + 3599, time(NULL) + 3599);
	credentials_release(&keys);
}

TEST_OF(fresh, no_program_and_no_service_of_amazon_has_keys_for_google)
{
	static const struct exchange elsewhere[] = {
		{"GET", GOOGLE("[::1]:80"), FLAVOR, NULL, 0, 404, "no"}, {0}};
	char why[512];

	google = true;
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://localhost:1/x", 1);
	setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "token", 1);
	setenv("GCE_METADATA_HOST", "[::1]:80", 1);
	unsetenv("AWS_EC2_METADATA_DISABLED");
	write_text(".aws/config", "[default]\ncredential_process = touch ran\nsso_session = s\n");
	snprintf(why, sizeof(why),
		 "no credentials: FOLDFS_TOKEN is not set, AWS_ACCESS_KEY_ID is not set, no keys "
		 "of profile 'default' in %s/.aws/credentials and %s/.aws/config, the metadata "
		 "server has no token: 404",
		 aws_home, aws_home);
	fails(NULL, elsewhere, -ENOKEY, why);
	assert_int_not_equal(access("ran", F_OK), 0);
}

TEST_OF(fresh, a_token_of_googles_machine_is_for_google_alone)
{
	static const char *const others[] = {"https://storage.googleapis.com.evil.com",
					     "http://storage.googleapis.com",
					     "https://evilgoogleapis.com",
					     "https://googleapis.com@evil.com", "https://10.0.0.1"};

	google = true;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct credentials keys = {0};
		struct err err;

		settings.endpoint = others[i];
		assert_int_equal(find(NULL, NULL, nothing_asked, &keys, &err), -ENOKEY);
		assert_non_null(strstr(err.text, "for Google's servers only"));
	}
	settings.endpoint = "https://storage-x.p.googleapis.com";
	found(NULL, google_machine, "", "", "ya29.c", "the metadata server");
}

TEST_OF(fresh, an_answer_without_a_token_is_an_error)
{
	static const char *const bodies[] = {"{}",
					     "<html>",
					     "{\"access_token\":\"a\"}",
					     "{\"access_token\":\"a\\r\\nb\",\"expires_in\":1}",
					     "{\"access_token\":\"a\",\"expires_in\":-1}",
					     "{\"access_token\":\"a\",\"expires_in\":99999999999}"};

	google = true;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		const struct exchange odd[] = {{"GET", GOOGLE("metadata.google.internal"), FLAVOR,
						NULL, 0, 200, bodies[i]},
					       {0}};

		fails(NULL, odd, -EINVAL, "the answer of the metadata server has no token");
	}
}

/* --- machine --------------------------------------------------------------------------------- */

#define METADATA "http://169.254.169.254/latest/"
#define ROLES	 METADATA "meta-data/iam/security-credentials/"
#define TTL	 "X-aws-ec2-metadata-token-ttl-seconds: 21600"
#define TOKEN	 "X-aws-ec2-metadata-token: TT=="

TEST_OF(fresh, a_machine_has_a_role)
{
	static const struct exchange ec2[] = {
		{"PUT", METADATA "api/token", TTL, NULL, 0, 200, "TT=="},
		{"GET", ROLES, TOKEN, NULL, 0, 200, "trainer\n"},
		{"GET", ROLES "trainer", TOKEN, NULL, 0, 200,
		 "{\n  \"Code\" : \"Success\",\n  \"Type\" : \"AWS-HMAC\",\n  " KEYS
		 ",\n  \"Token\" : \"T\",\n  \"Expiration\" : \"2030-01-02T04:04:05+01:00\"\n}"},
		{0}};
	struct credentials keys = {0};
	struct err err;

	unsetenv("AWS_EC2_METADATA_DISABLED");
	assert_int_equal(find(NULL, NULL, ec2, &keys, &err), 0);
	assert_string_equal(keys.token, "T");
	assert_string_equal(keys.source, "instance metadata");
	assert_true(keys.expires == 1893553445);
	credentials_release(&keys);
}

TEST_OF(fresh, a_machine_may_be_asked_by_ipv6)
{
	static const struct exchange ipv6[] = {
		{"PUT", "http://[fd00:ec2::254]/latest/api/token", TTL, NULL, 0, 403, ""}, {0}};
	struct credentials keys = {0};
	struct err err;

	unsetenv("AWS_EC2_METADATA_DISABLED");
	setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv6", 1);
	assert_int_equal(find(NULL, NULL, ipv6, &keys, &err), -ENOKEY);
}

TEST_OF(fresh, a_machine_elsewhere_has_no_metadata)
{
	static const struct exchange elsewhere[] = {
		{"PUT", METADATA "api/token", TTL, NULL, -ETIMEDOUT, 0, NULL},
		{"PUT", METADATA "api/token", TTL, NULL, -ETIMEDOUT, 0, NULL},
		{0}};
	static const struct exchange no_role[] = {
		{"PUT", METADATA "api/token", TTL, NULL, 0, 200, "TT=="},
		{"GET", ROLES, TOKEN, NULL, 0, 404, ""},
		{0}};
	struct credentials keys = {0};
	struct err err;

	unsetenv("AWS_EC2_METADATA_DISABLED");
	assert_int_equal(find(NULL, NULL, elsewhere, &keys, &err), -ENOKEY);
	assert_non_null(strstr(err.text, ", no metadata service at http://169.254.169.254"));
	assert_int_equal(find(NULL, NULL, no_role, &keys, &err), -ENOKEY);
	assert_non_null(strstr(err.text, ", http://169.254.169.254 has no role: 404"));
}

TEST_OF(fresh, a_date_without_a_zone_or_sense_is_refused)
{
	static const char *const texts[] = {"", "tomorrow", "2030-01-02", "2030-01-02T03:04:05",
					    "2030-01-02T03:04:05+1"};
	struct credentials keys = {0};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(credentials_set_expiration(&keys, texts[i]), -EINVAL);
	assert_int_equal(credentials_set_expiration(&keys, "2030-01-01T19:34:05-07:30"), 0);
	assert_true(keys.expires == 1893553445);
}

int main(void)
{
	return test_run(aws_home_enter, aws_home_leave);
}
