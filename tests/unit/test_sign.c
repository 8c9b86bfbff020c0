/* Signatures that Amazon published: remote/sign.h. The examples of its documentation of S3
 * ("Signature Calculations for the Authorization Header"), and of its test suite for all services.
 */
#include "remote/sign.h"
#include "tests/unit/test.h"
#include <stdio.h>

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const struct sign_key s3 = {"AKIAIOSFODNN7EXAMPLE",
				   "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "20130524T000000Z",
				   "us-east-1", "s3"};
static const struct sign_key suite = {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
				      "20150830T123600Z", "us-east-1", "service"};

#define S3_HOST                                          \
	{                                                \
		"host", "examplebucket.s3.amazonaws.com" \
	}
#define S3_DATE                                  \
	{                                        \
		"x-amz-date", "20130524T000000Z" \
	}

static const struct sign_header of_range[] = {
	S3_HOST, {"range", "bytes=0-9"}, {"x-amz-content-sha256", EMPTY}, S3_DATE};
static const struct sign_header of_query[] = {S3_HOST, {"x-amz-content-sha256", EMPTY}, S3_DATE};
static const struct sign_header of_suite[] = {{"host", "example.amazonaws.com"},
					      {"x-amz-date", "20150830T123600Z"}};

static const struct {
	const struct sign_key *key;
	struct sign_request request;
	const char *credential, *names, *signature;
} examples[] = {
#define OF_S3 "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3"
	/* A range of an object. */
	{&s3,
	 {"GET", "/test.txt", "", of_range, 4, EMPTY},
	 OF_S3,
	 "host;range;x-amz-content-sha256;x-amz-date",
	 "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
	/* A query. */
	{&s3,
	 {"GET", "/", "max-keys=2&prefix=J", of_query, 3, EMPTY},
	 OF_S3,
	 "host;x-amz-content-sha256;x-amz-date",
	 "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
#define OF_SUITE "AKIDEXAMPLE/20150830/us-east-1/service", "host;x-amz-date"
	{&suite,
	 {"POST", "/", "", of_suite, 2, EMPTY},
	 OF_SUITE,
	 "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
	{&suite,
	 {"GET", "/", "Param1=value1&Param2=value2", of_suite, 2, EMPTY},
	 OF_SUITE,
	 "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
};

TEST(requests_are_signed_as_amazon_says)
{
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		struct buf value = BUF_INIT;
		char expected[512];

		snprintf(
			expected, sizeof(expected),
			"AWS4-HMAC-SHA256 Credential=%s/aws4_request,SignedHeaders=%s,Signature=%s",
			examples[i].credential, examples[i].names, examples[i].signature);
		assert_int_equal(sign_authorization(&examples[i].request, examples[i].key, &value),
				 0);
		assert_string_equal(value.data, expected);
		buf_release(&value);
	}
}
