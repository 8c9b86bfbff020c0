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

/* Asks no other machine yet. Settings and `remote` must outlive it. `fetch_from` is fetch(), except
 * in tests. Returns 0, -EINVAL (name or settings are wrong) or what profile_open() returns. */
int s3_auth_new(const char *name, const struct remote_settings *settings,
		credentials_fetch_fn *fetch_from, struct remote *remote, struct object_auth **ret,
		struct err *err);
