/* Which URL s3:// names: remote/s3.h. */
#include "remote/s3.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define AT(end, where, ...)                                         \
	&(const struct s3_place)                                    \
	{                                                           \
		.endpoint = (end), .region = (where), ##__VA_ARGS__ \
	}
#define AMAZON(region) AT(NULL, region)

static void is_at(const char *name, const struct s3_place *place, const char *expected)
{
	struct err err = {0};
	char *url = NULL;

	print_message("%s\n", name);
	assert_int_equal(s3_url(name, place, &url, &err), 0);
	assert_string_equal(url, expected);
	free(url);
}

static void is_refused(const char *name, const struct s3_place *place, const char *why)
{
	struct err err = {0};
	char *url = NULL;

	assert_int_equal(s3_url(name, place, &url, &err), -EINVAL);
	assert_string_equal(err.text, why);
	assert_null(url);
}

TEST(a_bucket_is_part_of_the_host_at_amazon_unless_no_certificate_fits)
{
	is_at("s3://photos/x.lmdb", AMAZON("eu-west-1"),
	      "https://photos.s3.eu-west-1.amazonaws.com/x.lmdb");
	is_at("s3://photos-2/a/b.lmdb", AMAZON("cn-north-1"),
	      "https://photos-2.s3.cn-north-1.amazonaws.com.cn/a/b.lmdb");
	is_at("s3://my.photos/x", AMAZON("r"), "https://s3.r.amazonaws.com/my.photos/x");
	is_at("s3://Photos/x", AMAZON("r"), "https://s3.r.amazonaws.com/Photos/x");
	is_at("s3://a_b/x", AMAZON("r"), "https://s3.r.amazonaws.com/a_b/x");
}

TEST(a_bucket_is_part_of_the_path_at_an_endpoint)
{
	is_at("s3://photos/x", AT("http://localhost:9000", "r"), "http://localhost:9000/photos/x");
	is_at("s3://photos/x", AT("https://host/storage/v1/s3//", "auto"),
	      "https://host/storage/v1/s3/photos/x");
	is_at("s3://tenant:photos/x", AT("http://rgw", "r"), "http://rgw/tenant%3Aphotos/x");
	is_at("gs://my.photos/a b", AT("https://host", "auto"), "https://host/my.photos/a%20b");
}

TEST(the_url_of_a_bucket_is_what_those_of_its_objects_begin_with)
{
	is_at("s3://photos/", AMAZON("eu-west-1"), "https://photos.s3.eu-west-1.amazonaws.com/");
	is_at("s3://my.photos/", AMAZON("r"), "https://s3.r.amazonaws.com/my.photos/");
	is_at("gs://photos/", AT("http://e/", "auto"), "http://e/photos/");
	assert_string_equal(s3_key("s3://photos/a/b"), "a/b");
	assert_string_equal(s3_key("s3://photos/"), "");
	assert_string_equal(s3_key("s3://photos"), "");
}

TEST(a_style_says_where_the_bucket_goes)
{
	is_at("s3://photos/a/b",
	      AT("https://oss-cn-beijing.aliyuncs.com/", "r", .style = S3_VIRTUAL),
	      "https://photos.oss-cn-beijing.aliyuncs.com/a/b");
	is_at("s3://my.photos/x", AT("http://localhost:9000/s3", "r", .style = S3_VIRTUAL),
	      "http://my.photos.localhost:9000/s3/x");
	is_at("s3://Photos/x", AT("http://host", "r", .style = S3_VIRTUAL), "http://host/Photos/x");
	is_at("s3://photos/x", AT("http://127.0.0.1:9", "r", .style = S3_VIRTUAL),
	      "http://127.0.0.1:9/photos/x");
	is_at("s3://photos/x", AT("http://[::1]:9", "r", .style = S3_VIRTUAL),
	      "http://[::1]:9/photos/x");
	is_at("s3://photos/x", AT("http://host", "r", .style = S3_PATH), "http://host/photos/x");
	is_at("s3://photos/x", AT(NULL, "r", .style = S3_PATH),
	      "https://s3.r.amazonaws.com/photos/x");
	is_at("s3://my.photos/x", AT(NULL, "r", .style = S3_VIRTUAL),
	      "https://s3.r.amazonaws.com/my.photos/x");
}

TEST(hosts_of_amazon_have_variants)
{
	is_at("s3://b/k", AT(NULL, "r", .fips = true), "https://b.s3-fips.r.amazonaws.com/k");
	is_at("s3://b.c/k", AT(NULL, "us-gov-west-1", .fips = true, .dualstack = true),
	      "https://s3-fips.dualstack.us-gov-west-1.amazonaws.com/b.c/k");
	is_at("s3://b/k", AT(NULL, "cn-north-1", .dualstack = true),
	      "https://b.s3.dualstack.cn-north-1.amazonaws.com.cn/k");
	is_at("s3://b/k", AT("http://e", "r", .fips = true), "http://e/b/k");
}

TEST(each_partition_of_amazon_has_its_domain)
{
#define IN(region, domain) is_at("s3://b/k", AMAZON(region), "https://b.s3." region "." domain "/k")
	IN("eusc-de-east-1", "amazonaws.eu");
	IN("us-iso-east-1", "c2s.ic.gov");
	IN("us-isob-east-1", "sc2s.sgov.gov");
	IN("us-isof-south-1", "csp.hci.ic.gov");
	IN("eu-isoe-west-1", "cloud.adc-e.uk");
	IN("us-gov-east-1", "amazonaws.com");
	IN("cn-north-1", "amazonaws.com.cn");
	IN("us-east-1", "amazonaws.com");
}

TEST(what_looks_like_a_bucket_and_is_none_is_refused_by_name)
{
	static const char arn[] =
		"an ARN is not read: name the bucket, or the alias of the access "
		"point, as s3://NAME-s3alias/KEY";

	is_refused("s3://arn:aws:s3:::b/k", AMAZON("r"), arn);
	is_refused("s3://arn:aws:s3:us-west-2:1:accesspoint/a/k", AT("http://e", "r"), arn);
	is_refused("s3://b--use1-az4--x-s3/k", AMAZON("r"),
		   "'b--use1-az4--x-s3' is a directory bucket (S3 Express), which is not read: a "
		   "bucket for general purposes is, or a presigned URL");
	is_refused("s3://a.mrap/k", AMAZON("r"),
		   "'a.mrap' is an access point of several regions, which is not read: a bucket "
		   "for general purposes is, or a presigned URL");
	is_at("s3://a-s3alias/k", AMAZON("r"), "https://a-s3alias.s3.r.amazonaws.com/k");
	is_at("s3://b--x-s3/k", AT("http://e", "r"), "http://e/b--x-s3/k");
}

TEST(a_key_is_encoded_once_and_nothing_of_it_is_special)
{
	char name[] = "s3://b/?", expected[64];

	for (int c = 1; c < 256; c++) {
		bool plain = c < 128 && (strchr("-._~/", c) || (c >= '0' && c <= '9') ||
					 (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'));

		name[7] = (char)c;
		snprintf(expected, sizeof(expected), plain ? "http://e/b/%c" : "http://e/b/%%%02X",
			 c);
		is_at(name, AT("http://e", "r"), expected);
	}
	is_at("s3://b/a%20b?c=d#e", AT("http://e", "r"), "http://e/b/a%2520b%3Fc%3Dd%23e");
	is_at("s3://b//a//../b/", AT("http://e", "r"), "http://e/b//a//../b/");
}

TEST(what_names_no_object_or_would_lead_elsewhere_is_refused)
{
	is_refused("s3://", AMAZON("r"), "'' is not the name of a bucket");
	is_refused("s3:///key", AMAZON("r"), "'' is not the name of a bucket");
	is_refused("s3://key:secret@b/key", AMAZON("r"),
		   "no user and no password go in front of the bucket: AWS_ACCESS_KEY_ID and "
		   "AWS_SECRET_ACCESS_KEY, or '--profile', have the keys");
	is_refused("s3://b/k", AMAZON("evil.com/"), "'evil.com/' is not a region");
	is_refused("s3://b/k", AMAZON(""), "'' is not a region");
	is_refused(
		"s3://b/k", AT("localhost:9000", "r"),
		"the endpoint 'localhost:9000' is not a URL: it begins with https:// or http://");
}
