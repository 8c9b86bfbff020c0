/* The keys that sign requests, from where the SDKs of AWS look for them, in their order:
 *
 *	environment	AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
 *	web identity	AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN: keys of that role by STS
 *	profile		--profile, AWS_PROFILE, or "default": static keys, credential_process, a
 *			role of a web identity; for all else (SSO, chains of roles) the AWS command
 *			line tool is asked
 *	container	AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI
 *	machine		instance metadata (IMDSv2) of EC2, unless AWS_EC2_METADATA_DISABLED
 *
 * Only the profile is asked where --profile names one. */
#ifndef REMOTE_CREDENTIALS_H
#define REMOTE_CREDENTIALS_H

#include "base/err.h"
#include "remote/fetch.h"
#include <stdint.h>

struct credentials {
	char *access, *secret;
	char *token;	 /* of a session; NULL: none */
	int64_t expires; /* seconds since 1970; 0: never */
	char source[96]; /* where they are from: "profile 'here'" */
};

typedef int credentials_fetch_fn(const struct fetch *request, unsigned *ret_status,
				 struct buf *ret_body, struct err *err);

struct credentials_ask {
	const char *profile; /* of --profile, or NULL */
	const char *region;  /* whose STS is asked; NULL: the global one */
	const struct remote_settings *settings;
	credentials_fetch_fn *fetch;
};

/* Asks the places in turn; waits. Returns 0; -ENOKEY: none has any, and err says which were looked
 * at; or the error of a place that should have had some. */
int credentials_find(const struct credentials_ask *ask, struct credentials *ret, struct err *err);

/* Zeroes and frees. */
void credentials_release(struct credentials *credentials);

#endif
