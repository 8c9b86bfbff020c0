/* The URL of an object in a bucket:
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
#pragma once

#include "base/err.h"
#include <stdbool.h>

enum s3_style { S3_AUTO, S3_VIRTUAL, S3_PATH };

struct s3_place {
	const char *endpoint; /* NULL: Amazon's */
	const char *region;
	enum s3_style style;
	bool fips, dualstack; /* of Amazon's hosts: validated cryptography; IPv6, too */
};

/* The caller frees it. Returns 0, -EINVAL or -ENOMEM. */
int s3_url(const char *name, const struct s3_place *place, char **ret, struct err *err);

/* The domain that the services of a region of Amazon are in; and what its partition is called, in
 * which the name of a bucket is one. */
const char *s3_domain(const char *region);
const char *s3_partition(const char *region);
