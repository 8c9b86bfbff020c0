/* The keys that sign requests. They are looked for where the SDKs of AWS look, in the same order:
 *
 *	environment	AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
 *	web identity	AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN: keys of that role by STS
 *	profile		--profile, AWS_PROFILE, or "default": static keys, credential_process, a
 *			role of a web identity; for all else (SSO, chains of roles) the AWS command
 *			line tool is asked
 *	container	AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI
 *	machine		instance metadata (IMDSv2) of EC2, unless AWS_EC2_METADATA_DISABLED
 *
 * For gs://, whose servers know no keys of Amazon, these are asked:
 *
 *	token		FOLDFS_TOKEN or FOLDFS_TOKEN_FILE (remote/bearer.h)
 *	environment	HMAC keys, by the names above, if their id begins with GOOG
 *	profile		the same: static keys
 *	metadata server	of Google's machines, at GCE_METADATA_HOST if that is set: a token, for
 *			Google's servers and this machine itself only
 *
 * If --profile names a profile, only that one is asked. */
#pragma once

#include "base/err.h"
#include "remote/fetch.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct credentials {
	char *access, *secret; /* NULL: requests have the token instead of a signature */
	char *token;	       /* of a session; NULL: there is none */
	int64_t expires;       /* seconds since 1970; 0: never */
	char source[96];       /* where they come from: "profile 'here'" */
};

typedef int credentials_fetch_fn(const struct fetch_request *request, unsigned *ret_status,
				 struct buf *ret_body, struct err *err);

struct credentials_ask {
	bool google;	    /* for gs:// */
	const char *region; /* whose STS is asked; NULL: the global STS */
	const char *domain; /* that services of Amazon are in there */
	const struct remote_settings *settings;
	credentials_fetch_fn *fetch;
	const atomic_bool *stops; /* nobody waits any more; NULL: somebody does */
};

/* Asks one place after another, and waits for the answers. Returns 0; -ENOKEY: no place has keys,
 * and err says which were asked; or the error of a place that should have had keys. */
int credentials_find(const struct credentials_ask *ask, struct credentials *ret, struct err *err);

void credentials_release(struct credentials *credentials);
