/* The URL of an object in a bucket:
 *
 *	s3://photos/a b.lmdb		https://photos.s3.eu-west-1.amazonaws.com/a%20b.lmdb
 *	s3://my.photos/x.lmdb		https://s3.eu-west-1.amazonaws.com/my.photos/x.lmdb
 *	s3://photos/x.lmdb, endpoint	http://localhost:9000/photos/x.lmdb
 *	gs://photos/x.lmdb, the same	http://localhost:9000/photos/x.lmdb
 *
 * At Amazon, the bucket is part of the host name, unless no certificate fits that name. Everywhere
 * else it is part of the path. The key is used as it is, and encoded once. */
#pragma once

#include "base/err.h"

/* `endpoint` NULL: Amazon's. The caller frees it. Returns 0, -EINVAL or -ENOMEM. */
int s3_url(const char *name, const char *endpoint, const char *region, char **ret, struct err *err);
