/* Which URL s3:// names: remote/s3_url.h. */
#include "remote/s3_url.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void is_at_place(const char *name, const struct s3_place *place, const char *expected)
{
	struct err err = {0};
	char *url = NULL;

	print_message("%s\n", name);
	assert_int_equal(s3_url(name, place, &url, &err), 0);
	assert_string_equal(url, expected);
	free(url);
}

static void is_at(const char *name, const char *endpoint, const char *region, const char *expected)
{
	is_at_place(name, &(struct s3_place){.endpoint = endpoint, .region = region}, expected);
}

static void is_refused(const char *name, const char *endpoint, const char *region, const char *why)
{
	const struct s3_place place = {.endpoint = endpoint, .region = region};
	struct err err = {0};
	char *url = NULL;

	assert_int_equal(s3_url(name, &place, &url, &err), -EINVAL);
	assert_string_equal(err.text, why);
	assert_null(url);
}

TEST(a_bucket_is_part_of_the_host_at_amazon)
{
	is_at("s3://photos/x.lmdb", NULL, "eu-west-1",
	      "https://photos.s3.eu-west-1.amazonaws.com/x.lmdb");
	is_at("s3://photos-2/a/b.lmdb", NULL, "cn-north-1",
	      "https://photos-2.s3.cn-north-1.amazonaws.com.cn/a/b.lmdb");
}

TEST(a_bucket_that_no_certificate_fits_is_part_of_the_path)
{
	is_at("s3://my.photos/x", NULL, "us-east-1",
	      "https://s3.us-east-1.amazonaws.com/my.photos/x");
	is_at("s3://Photos/x", NULL, "us-east-1", "https://s3.us-east-1.amazonaws.com/Photos/x");
	is_at("s3://a_b/x", NULL, "us-east-1", "https://s3.us-east-1.amazonaws.com/a_b/x");
}

TEST(a_bucket_is_part_of_the_path_at_an_endpoint)
{
	is_at("s3://photos/x", "http://localhost:9000", "us-east-1",
	      "http://localhost:9000/photos/x");
	is_at("s3://photos/x", "https://host/storage/v1/s3//", "auto",
	      "https://host/storage/v1/s3/photos/x");
	is_at("s3://tenant:photos/x", "http://rgw", "us-east-1", "http://rgw/tenant%3Aphotos/x");
	is_at("gs://my.photos/a b", "https://host", "auto", "https://host/my.photos/a%20b");
}

TEST(a_style_says_where_the_bucket_goes)
{
	is_at_place("s3://photos/a/b",
		    &(struct s3_place){"https://oss-cn-beijing.aliyuncs.com/", "r",
				       .style = S3_VIRTUAL},
		    "https://photos.oss-cn-beijing.aliyuncs.com/a/b");
	is_at_place("s3://my.photos/x",
		    &(struct s3_place){"http://localhost:9000/s3", "r", .style = S3_VIRTUAL},
		    "http://my.photos.localhost:9000/s3/x");
	is_at_place("s3://Photos/x", &(struct s3_place){"http://host", "r", .style = S3_VIRTUAL},
		    "http://host/Photos/x");
	is_at_place("s3://photos/x",
		    &(struct s3_place){"http://127.0.0.1:9", "r", .style = S3_VIRTUAL},
		    "http://127.0.0.1:9/photos/x");
	is_at_place("s3://photos/x", &(struct s3_place){"http://[::1]:9", "r", .style = S3_VIRTUAL},
		    "http://[::1]:9/photos/x");
	is_at_place("s3://photos/x", &(struct s3_place){"http://host", "r", .style = S3_PATH},
		    "http://host/photos/x");
	is_at_place("s3://photos/x", &(struct s3_place){NULL, "eu-west-1", .style = S3_PATH},
		    "https://s3.eu-west-1.amazonaws.com/photos/x");
	is_at_place("s3://my.photos/x", &(struct s3_place){NULL, "eu-west-1", .style = S3_VIRTUAL},
		    "https://s3.eu-west-1.amazonaws.com/my.photos/x");
}

TEST(hosts_of_amazon_have_variants)
{
	is_at_place("s3://b/k", &(struct s3_place){NULL, "us-east-1", S3_AUTO, .fips = true},
		    "https://b.s3-fips.us-east-1.amazonaws.com/k");
	is_at_place(
		"s3://b.c/k",
		&(struct s3_place){NULL, "us-gov-west-1", S3_AUTO, .fips = true, .dualstack = true},
		"https://s3-fips.dualstack.us-gov-west-1.amazonaws.com/b.c/k");
	is_at_place("s3://b/k", &(struct s3_place){NULL, "cn-north-1", S3_AUTO, .dualstack = true},
		    "https://b.s3.dualstack.cn-north-1.amazonaws.com.cn/k");
	is_at_place("s3://b/k", &(struct s3_place){"http://e", "r", S3_AUTO, .fips = true},
		    "http://e/b/k");
}

TEST(each_partition_of_amazon_has_its_domain)
{
	is_at("s3://b/k", NULL, "eusc-de-east-1", "https://b.s3.eusc-de-east-1.amazonaws.eu/k");
	is_at("s3://b/k", NULL, "us-iso-east-1", "https://b.s3.us-iso-east-1.c2s.ic.gov/k");
	is_at("s3://b/k", NULL, "us-isob-east-1", "https://b.s3.us-isob-east-1.sc2s.sgov.gov/k");
	is_at("s3://b/k", NULL, "us-isof-south-1", "https://b.s3.us-isof-south-1.csp.hci.ic.gov/k");
	is_at("s3://b/k", NULL, "eu-isoe-west-1", "https://b.s3.eu-isoe-west-1.cloud.adc-e.uk/k");
	is_at("s3://b/k", NULL, "us-gov-east-1", "https://b.s3.us-gov-east-1.amazonaws.com/k");
}

TEST(what_looks_like_a_bucket_and_is_none_is_refused_by_name)
{
	static const char arn[] =
		"an ARN is not read: name the bucket, or the alias of the access "
		"point, as s3://NAME-s3alias/KEY";

	is_refused("s3://arn:aws:s3:::b/k", NULL, "r", arn);
	is_refused("s3://arn:aws:s3:us-west-2:1:accesspoint/a/k", "http://e", "r", arn);
	is_refused("s3://b--use1-az4--x-s3/k", NULL, "r",
		   "'b--use1-az4--x-s3' is a directory bucket (S3 Express), which is not read: a "
		   "bucket for general purposes is, or a presigned URL");
	is_refused("s3://a.mrap/k", NULL, "r",
		   "'a.mrap' is an access point of several regions, which is not read: a bucket "
		   "for general purposes is, or a presigned URL");
	is_at("s3://a-s3alias/k", NULL, "r", "https://a-s3alias.s3.r.amazonaws.com/k");
	is_at("s3://b--x-s3/k", "http://e", "r", "http://e/b--x-s3/k");
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
		is_at(name, "http://e", "r", expected);
	}
	is_at("s3://b/a%20b?c=d#e", "http://e", "r", "http://e/b/a%2520b%3Fc%3Dd%23e");
	is_at("s3://b//a//../b/", "http://e", "r", "http://e/b//a//../b/");
}

TEST(what_names_no_object_is_refused)
{
	is_refused("s3://", NULL, "r", "'' is not the name of a bucket");
	is_refused("s3:///key", NULL, "r", "'' is not the name of a bucket");
	is_refused("s3://key:secret@b/key", NULL, "r",
		   "no user and no password go in front of the bucket: AWS_ACCESS_KEY_ID and "
		   "AWS_SECRET_ACCESS_KEY, or '--profile', have the keys");
	is_refused("s3://bucket", NULL, "r", "no object is named: s3://BUCKET/KEY");
	is_refused("s3://bucket/", NULL, "r", "no object is named: s3://BUCKET/KEY");
}

TEST(a_region_or_endpoint_that_would_lead_elsewhere_is_refused)
{
	is_refused("s3://b/k", NULL, "evil.com/", "'evil.com/' is not a region");
	is_refused("s3://b/k", NULL, "", "'' is not a region");
	is_refused(
		"s3://b/k", "localhost:9000", "r",
		"the endpoint 'localhost:9000' is not a URL: it begins with https:// or http://");
}
