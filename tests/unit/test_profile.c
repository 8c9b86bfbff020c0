/* Files of the AWS tools: remote/profile.h. */
#define TEST_MAIN
#include "remote/profile.h"
#include "tests/unit/aws_home.h"
#include "tests/unit/test.h"
#include <errno.h>

static struct profile *opened(const char *name)
{
	struct profile *profile = NULL;
	struct err err = {0};

	assert_int_equal(profile_open(name, &profile, &err), 0);
	return profile;
}

/* A value of a profile; NULL: there is none. */
static void has(const char *name, const char *of, const char *expected)
{
	struct profile *profile = opened(name);
	const char *value = profile_get(profile, of);

	assert_string_equal(value ? value : "none", expected ? expected : "none");
	profile_free(profile);
}

/* All static keys, as "ACCESS SECRET TOKEN". */
static void has_keys(const char *name, const char *expected)
{
	struct profile *profile = opened(name);
	struct profile_keys keys = {0};
	char text[64];

	profile_keys(profile, &keys);
	snprintf(text, sizeof(text), "%s %s %s", keys.access ? keys.access : "-",
		 keys.secret ? keys.secret : "-", keys.token ? keys.token : "-");
	assert_string_equal(text, expected);
	profile_free(profile);
}

TEST(without_files_the_default_profile_is_empty)
{
	struct profile *profile = opened(NULL);

	assert_string_equal(profile_name(profile), "default");
	profile_free(profile);
	has(NULL, "region", NULL);
	has_keys(NULL, "- - -");
}

TEST(a_profile_that_is_named_must_be_there)
{
	struct profile *profile = NULL;
	struct err err = {0};
	char expected[256];

	write_text(".aws/config", "[profile here]\n[other]\n");
	snprintf(expected, sizeof(expected),
		 "there is no profile 'other' in %s/.aws/credentials and %s/.aws/config", aws_home,
		 aws_home);
	assert_int_equal(profile_open("other", &profile, &err), -ENOENT);
	assert_string_equal(err.text, expected);
	profile_free(opened("here"));
	setenv("AWS_PROFILE", "other", 1);
	assert_int_equal(profile_open(NULL, &profile, &err), -ENOENT);
	unsetenv("AWS_PROFILE");
	assert_null(profile);
}

TEST(without_a_home_there_are_no_files)
{
	struct profile *profile = NULL;
	struct err err = {0};

	unsetenv("HOME");
	has(NULL, "region", NULL);
	setenv("AWS_CONFIG_FILE", "~/.aws/config", 1);
	assert_int_equal(profile_open("here", &profile, &err), -ENOENT);
	assert_string_equal(err.text, "there is no profile 'here' in any file, as HOME is not set");
	setenv("AWS_CONFIG_FILE", ".aws/config", 1);
	profile_free(opened("here"));
	unsetenv("AWS_CONFIG_FILE");
	setenv("HOME", aws_home, 1);
}

TEST(what_is_between_quotes_is_no_comment)
{
	write_text(".aws/config",
		   "[profile q]\n"
		   "credential_process = sh -c 'a ; b # c' \"d ' ; e\" # f\n"
		   "apostrophe = it's # a comment\n"
		   "plain = a ; b\n"
		   "[profile \"with space\"] # g\n"
		   "region = here\n"
		   "[profile 'it']\n"
		   "region = there\n"
		   "[profile o'brien]\n"
		   "region = nowhere\n");
	has("q", "credential_process", "sh -c 'a ; b # c' \"d ' ; e\"");
	has("q", "apostrophe", "it's");
	has("q", "plain", "a");
	has("with space", "region", "here");
	has("it", "region", "there");
	has("o'brien", "region", "nowhere");
}

TEST(values_are_read_as_the_tools_write_them)
{
	write_text(".aws/config",
		   "# a comment\n"
		   "region = nowhere\n"
		   "[default]\n"
		   "region=us-west-2\r\n"
		   "[profile a b] ; another\n"
		   "  \n"
		   "region = eu-west-1 # here\n"
		   "empty =\n"
		   "with#sign = x#y=z\n"
		   "no value\n"
		   "s3 =\n"
		   "  region = deeper\n"
		   "\tendpoint_url = http://nested\n"
		   "output = json\n"
		   "output = text");
	has("a b", "region", "eu-west-1");
	has("a b", "with#sign", "x#y=z");
	has("a b", "output", "text");
	has("a b", "s3.region", "deeper");
	has("a b", "s3.endpoint_url", "http://nested");
	has("a b", "empty", NULL);
	has("a b", "endpoint_url", NULL);
	has("a b", "no value", NULL);
	has(NULL, "region", "us-west-2");
}

TEST(the_credentials_file_comes_first_and_keys_are_never_mixed)
{
	write_text(".aws/credentials",
		   "[a]\n"
		   "aws_access_key_id = A1\n"
		   "aws_secret_access_key = S1+/=\n"
		   "region = r1\n");
	write_text("config",
		   "[profile a]\n"
		   "aws_access_key_id = A2\n"
		   "aws_secret_access_key = S2\n"
		   "aws_session_token = T2\n"
		   "region = r2\n"
		   "[profile b]\n"
		   "aws_access_key_id = A3\n");
	setenv("AWS_CONFIG_FILE", "~/config", 1);
	has_keys("a", "A1 S1+/= -");
	has("a", "region", "r1");
	has_keys("b", "A3 - -");
	unsetenv("AWS_CONFIG_FILE");
}

TEST(a_file_that_cannot_be_read_is_named)
{
	struct profile *profile = NULL;
	struct err err = {0};
	char expected[256];

	setenv("AWS_CONFIG_FILE", aws_home, 1);
	snprintf(expected, sizeof(expected), "%s: Is a directory", aws_home);
	assert_int_equal(profile_open(NULL, &profile, &err), -EISDIR);
	assert_string_equal(err.text, expected);
	unsetenv("AWS_CONFIG_FILE");
}

int main(void)
{
	return test_run(aws_home_enter, aws_home_leave);
}
