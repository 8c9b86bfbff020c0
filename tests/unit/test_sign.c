/* Signatures that Amazon published: remote/sign.h. The examples of its documentation of S3
 * ("Signature Calculations for the Authorization Header"), and of its test suite for all services.
 */
#include "remote/sign.h"
#include "tests/unit/test.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const struct sign_key s3_key = {
	.access = "AKIAIOSFODNN7EXAMPLE",
	.secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
	.date = "20130524T000000Z",
	.region = "us-east-1",
	.service = "s3",
};

static const struct sign_key suite_key = {
	.access = "AKIDEXAMPLE",
	.secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
	.date = "20150830T123600Z",
	.region = "us-east-1",
	.service = "service",
};

static void is_signed_as(const struct sign_request *request, const struct sign_key *key,
			 const char *expected)
{
	struct buf value = BUF_INIT;

	assert_int_equal(sign_authorization(request, key, &value), 0);
	assert_string_equal(value.data, expected);
	buf_release(&value);
}

TEST(a_range_of_an_object)
{
	static const struct sign_header headers[] = {
		{"host", "examplebucket.s3.amazonaws.com"},
		{"range", "bytes=0-9"},
		{"x-amz-content-sha256", EMPTY},
		{"x-amz-date", "20130524T000000Z"},
	};

	is_signed_as(&(struct sign_request){"GET", "/test.txt", "", headers, 4, EMPTY}, &s3_key,
		     "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
		     "aws4_request,SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
		     "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(a_request_with_a_query)
{
	static const struct sign_header headers[] = {
		{"host", "examplebucket.s3.amazonaws.com"},
		{"x-amz-content-sha256", EMPTY},
		{"x-amz-date", "20130524T000000Z"},
	};
	static const struct {
		const char *query, *signature;
	} table[] = {
		{"lifecycle=", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
		{"max-keys=2&prefix=J",
		 "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	};

	for (size_t i = 0; i < 2; i++) {
		struct buf expected = BUF_INIT;

		assert_int_equal(
			buf_addf(&expected,
				 "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/"
				 "us-east-1/s3/aws4_request,SignedHeaders=host;"
				 "x-amz-content-sha256;x-amz-date,Signature=%s",
				 table[i].signature),
			0);
		is_signed_as(&(struct sign_request){"GET", "/", table[i].query, headers, 3, EMPTY},
			     &s3_key, expected.data);
		buf_release(&expected);
	}
}

TEST(an_object_whose_name_is_encoded)
{
	static const char body[] =
		"44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
	static const struct sign_header headers[] = {
		{"date", "Fri, 24 May 2013 00:00:00 GMT"},
		{"host", "examplebucket.s3.amazonaws.com"},
		{"x-amz-content-sha256", body},
		{"x-amz-date", "20130524T000000Z"},
		{"x-amz-storage-class", "REDUCED_REDUNDANCY"},
	};

	is_signed_as(&(struct sign_request){"PUT", "/test%24file.text", "", headers, 5, body},
		     &s3_key,
		     "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
		     "aws4_request,SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;"
		     "x-amz-storage-class,"
		     "Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(requests_of_the_suite_for_all_services)
{
	static const struct sign_header headers[] = {
		{"host", "example.amazonaws.com"},
		{"x-amz-date", "20150830T123600Z"},
	};
	static const struct {
		const char *method, *query, *signature;
	} table[] = {
		{"GET", "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"POST", "", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		{"GET", "Param1=value1&Param2=value2",
		 "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct buf expected = BUF_INIT;

		assert_int_equal(buf_addf(&expected,
					  "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/"
					  "us-east-1/service/aws4_request,"
					  "SignedHeaders=host;x-amz-date,Signature=%s",
					  table[i].signature),
				 0);
		is_signed_as(&(struct sign_request){table[i].method, "/", table[i].query, headers,
						    2, EMPTY},
			     &suite_key, expected.data);
		buf_release(&expected);
	}
}
