/* Credentials for objects of S3 and of servers that are compatible with it: s3://BUCKET/KEY, and
 * gs://BUCKET/KEY of Google Cloud Storage.
 *
 *	endpoint	--endpoint, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, endpoint_url of the
 *			profile (of its services first); Amazon's
 *	region		--region, AWS_REGION, AWS_DEFAULT_REGION, region of the profile; us-east-1.
 *			A server that names the right one is believed
 *	of gs://	--endpoint; Google's. --region; auto
 *	credentials	remote/credentials.h, the same for all packs (s3_keys.h); without any, and
 *			with --anonymous, requests are not signed */
#pragma once

#include "base/err.h"
#include "remote/credentials.h"
#include "remote/object_auth.h"
#include "remote/remote.h"

/* Of one object, or of all of a bucket: s3://BUCKET/. Asks no other machine yet. Settings and
 * `remote` must outlive it. Returns 0, -EINVAL (name or settings are wrong) or what profile_open()
 * returns. */
int s3_auth_new(const char *name, const struct remote_settings *settings, struct remote *remote,
		struct object_auth **ret, struct err *err);

/* --- URLs -------------------------------------------------------------------------------------
 *
 * The URL of an object in a bucket:
 *
 *	s3://photos/a b.lmdb		https://photos.s3.eu-west-1.amazonaws.com/a%20b.lmdb
 *	s3://my.photos/x.lmdb		https://s3.eu-west-1.amazonaws.com/my.photos/x.lmdb
 *	s3://photos/x.lmdb, endpoint	http://localhost:9000/photos/x.lmdb
 *	the same, virtual		http://photos.localhost:9000/x.lmdb
 *	gs://photos/x.lmdb, the same	http://localhost:9000/photos/x.lmdb
 *
 * At Amazon, the bucket is part of the host name, unless no certificate fits that name. Everywhere
 * else it is part of the path, unless the style says otherwise and it can be part of a host's name.
 * The key is used as it is, and encoded once. */

enum s3_style { S3_AUTO, S3_VIRTUAL, S3_PATH };

struct s3_place {
	const char *endpoint; /* NULL: Amazon's */
	const char *region;
	enum s3_style style;
	bool fips, dualstack; /* of Amazon's hosts: validated cryptography; IPv6, too */
};

/* The key in the name of an object or a bucket; "": there is none. */
const char *s3_key(const char *name);
/* Without a key, the URL is what those of all objects of the bucket begin with. The caller frees
 * it. Returns 0, -EINVAL or -ENOMEM. */
int s3_url(const char *name, const struct s3_place *place, char **ret, struct err *err);
